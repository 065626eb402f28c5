"""Split the raw digits into a training and a test table, the same share of every digit in both."""

import argparse
from pathlib import Path

import numpy as np

import trainwright as tw

DARKEST = 16  # a pixel counts the dark dots of a 4 × 4 block


def prep(raw: Path, out: Path, seed: int, test_share: float) -> None:
    table = np.genfromtxt(raw, delimiter=",")  # 64 pixels and the digit; an empty or unreadable cell is NaN
    good = table[is_good(table)]
    test = pick_test_rows(good[:, -1], test_share, np.random.default_rng(seed))

    out.mkdir(parents=True, exist_ok=True)
    header = ",".join([*(f"pixel{i}" for i in range(good.shape[1] - 1)), "digit"])
    for name, part in {"train": good[~test], "test": good[test]}.items():
        np.savetxt(out / f"{name}.csv", part, fmt="%d", delimiter=",", header=header, comments="")

    null_rate = float(np.isnan(table).mean())
    tw.log(rows=len(good), null_rate=null_rate, dropped=len(table) - len(good))
    print(f"{len(good)} rows kept of {len(table)}, {test.sum()} of them for the test; {null_rate:.2%} of cells empty")


def is_good(table: np.ndarray) -> np.ndarray:
    """Tell of each row whether every pixel and the digit are there and in range; NaN is in no range."""
    pixels, digits = table[:, :-1], table[:, -1]
    return ((pixels >= 0) & (pixels <= DARKEST)).all(axis=1) & (digits >= 0) & (digits <= 9)


def pick_test_rows(digits: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a mask that holds ``share`` (0..1) of the rows of every digit."""
    mask = np.zeros(len(digits), dtype=bool)
    for digit in np.unique(digits):
        rows = rng.permutation(np.flatnonzero(digits == digit))
        mask[rows[: round(share * len(rows))]] = True
    return mask


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, required=True, help="digits.csv.gz as scikit-learn ships it")
    parser.add_argument("--out", type=Path, required=True, help="folder for train.csv and test.csv")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--test-share", type=float, default=0.25)
    prep(**vars(parser.parse_args()))
