"""Keep the model that does best on the validation rows; the test rows stay unseen."""

import argparse
from pathlib import Path

import models
import numpy as np
from penguins import SPECIES, read_table

import trainwright as tw


def choose(tables: Path, candidates: list[Path], out: Path) -> None:
    x, y = read_table(tables / "validation.csv")
    loaded = [models.load(folder) for folder in candidates]
    scores = {model["kind"]: brier(models.probabilities(model, x), y) for model in loaded}
    best = min(loaded, key=lambda model: scores[model["kind"]])  # of equals the first
    models.save(best, out)

    tw.log(**{f"{kind}_brier": score for kind, score in scores.items()})
    tw.params(chosen=best["kind"])
    print("  ".join(f"{kind} {score:.4f}" for kind, score in scores.items()), f"-> {best['kind']}")


def brier(p: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared distance of the probabilities from the truth: 0 is perfect, 2 is worst."""
    return float(((p - np.eye(len(SPECIES))[y]) ** 2).sum(axis=1).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help="folder with validation.csv")
    parser.add_argument("--models", type=Path, required=True, nargs="+", dest="candidates", help="folders of models")
    parser.add_argument("--out", type=Path, required=True, help="folder for the chosen model")
    choose(**vars(parser.parse_args()))
