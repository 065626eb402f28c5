"""Judge the chosen model on the test rows, which nothing has seen before."""

import argparse
from pathlib import Path

import models
import numpy as np
from penguins import SPECIES, read_table

import trainwright as tw


def evaluate(tables: Path, model: Path) -> None:
    x, y = read_table(tables / "test.csv")
    p = models.probabilities(models.load(model), x)
    right = p.argmax(axis=1) == y
    recalls = [float(right[y == species].mean()) for species in range(len(SPECIES))]
    aucs = [auc(p[y == species, species], p[y != species, species]) for species in range(len(SPECIES))]

    figures = {"auc": float(np.mean(aucs)), "accuracy": float(right.mean()), "worst_recall": min(recalls)}
    tw.log(**figures)
    print("  ".join(f"{name} {value:.4f}" for name, value in figures.items()))


def auc(own: np.ndarray, other: np.ndarray) -> float:
    """Return how often one of the species scores above one of another; a tie counts half."""
    above, equal = own[:, None] > other, own[:, None] == other
    return float((above + equal / 2).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help="folder with test.csv")
    parser.add_argument("--model", type=Path, required=True, help="folder of the model")
    evaluate(**vars(parser.parse_args()))
