"""Fill or drop what is missing, and split into train, validation and test, the same share of every species in each."""

import argparse
from pathlib import Path

import pandas as pd
from penguins import FEATURES, MEASURES

import trainwright as tw

SHARES = {"test": 0.2, "validation": 0.2}  # the rest is for training


def prepare(raw: Path, out: Path, seed: int) -> None:
    before = pd.read_csv(raw)
    table = before.dropna(subset=[*MEASURES])  # a penguin that was not measured tells nothing
    unsexed = int(table["sex"].isna().sum())
    table = table.assign(male=table["sex"].map({"female": 0, "male": 1}).fillna(0.5))[["species", *FEATURES]]

    out.mkdir(parents=True, exist_ok=True)
    for name, part in split(table, seed).items():
        part.to_csv(out / f"{name}.csv", index=False)

    dropped = len(before) - len(table)
    tw.log(rows=len(table), dropped=dropped, imputed=unsexed)
    tw.log(null_rate_before=null_rate(before), null_rate=null_rate(table))
    print(f"{len(table)} rows kept, {dropped} dropped, sex imputed in {unsexed}; {null_rate(before):.2%} was missing")


def split(table: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Return the parts by name; they share no row and together are the table."""
    parts, rest = {}, table
    for name, share in SHARES.items():
        parts[name] = rest.groupby("species").sample(frac=share * len(table) / len(rest), random_state=seed)
        rest = rest.drop(parts[name].index)
    return {"train": rest, **parts}


def null_rate(table: pd.DataFrame) -> float:
    """Return the share of empty cells, 0..1."""
    return float(table.isna().to_numpy().mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, required=True, help="penguins.csv as palmerpenguins ships it")
    parser.add_argument("--out", type=Path, required=True, help="folder for train.csv, validation.csv and test.csv")
    parser.add_argument("--seed", type=int, default=7)
    prepare(**vars(parser.parse_args()))
