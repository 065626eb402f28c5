"""Turn the tables into arrays: pixels scaled to 0..1, digits as integers."""

import argparse
from pathlib import Path

import numpy as np

import trainwright as tw

DARKEST = 16


def load_features(table: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    rows = features = 0
    for name in ("train", "test"):
        part = np.loadtxt(table / f"{name}.csv", delimiter=",", skiprows=1, dtype=int)
        x, y = part[:, :-1] / DARKEST, part[:, -1]
        np.savez(out / f"{name}.npz", x=x, y=y)
        rows, features = rows + len(x), x.shape[1]

    tw.log(rows=rows, features=features)
    print(f"{rows} rows of {features} features")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, required=True, help="folder with train.csv and test.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder for train.npz and test.npz")
    load_features(**vars(parser.parse_args()))
