"""Judge a model on the test rows, which training has not seen."""

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, roc_auc_score
from softmax import Softmax

import trainwright as tw


def evaluate(arrays: Path, model: Path, confusion: Path) -> None:
    with np.load(arrays / "test.npz", allow_pickle=False) as test:
        x, y = test["x"], test["y"]
    p = Softmax.load(model).probabilities(x)
    guess = p.argmax(axis=1)

    figures = {
        "auc": float(roc_auc_score(y, p, multi_class="ovr", average="macro")),
        "accuracy": float(accuracy_score(y, guess)),
        "f1": float(f1_score(y, guess, average="macro")),
    }
    tw.log(**figures)
    print("  ".join(f"{name} {value:.4f}" for name, value in figures.items()))

    digits = range(p.shape[1])
    header = ",".join(["digit", *(f"taken_for_{digit}" for digit in digits)])
    table = np.column_stack([digits, confusion_matrix(y, guess, labels=digits)])
    confusion.parent.mkdir(parents=True, exist_ok=True)
    with confusion.open("w") as file:  # np.savetxt, given a path, would choose the format by its ending
        np.savetxt(file, table, fmt="%d", delimiter=",", header=header, comments="")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrays", type=Path, required=True, help="folder with test.npz")
    parser.add_argument("--model", type=Path, required=True, help="folder of the model")
    parser.add_argument("--confusion", type=Path, required=True, help="file for the confusion matrix, as CSV")
    evaluate(**vars(parser.parse_args()))
