"""Fit a logistic regression and keep it as JSON."""

import argparse
from pathlib import Path

import models
from penguins import read_table
from sklearn.linear_model import LogisticRegression

import trainwright as tw


def fit(tables: Path, out: Path, C: float) -> None:
    x, y = read_table(tables / "train.csv")
    mean, scale = x.mean(axis=0), x.std(axis=0)
    fitted = LogisticRegression(C=C, max_iter=1000).fit((x - mean) / scale, y)

    weights = fitted.coef_ / scale  # back to grams and millimetres, so that no scaling need be kept
    bias = fitted.intercept_ - weights @ mean
    model = {"kind": "logistic", "weights": weights.tolist(), "bias": bias.tolist()}
    models.save(model, out)

    accuracy = float((models.probabilities(model, x).argmax(axis=1) == y).mean())
    tw.log(train_accuracy=accuracy)
    print(f"logistic regression, C {C:g}: accuracy {accuracy:.4f} on the training rows")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help="folder with train.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    parser.add_argument("--C", type=float, default=1.0, help="inverse regularisation")
    fit(**vars(parser.parse_args()))
