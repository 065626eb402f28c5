"""Fit a decision tree and keep it as JSON."""

import argparse
from pathlib import Path

import models
from penguins import read_table
from sklearn.tree import DecisionTreeClassifier

import trainwright as tw


def fit(tables: Path, out: Path, depth: int, seed: int) -> None:
    x, y = read_table(tables / "train.csv")
    fitted = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(x, y).tree_

    model = {"kind": "tree", "nodes": [describe(fitted, node) for node in range(fitted.node_count)]}
    models.save(model, out)

    accuracy = float((models.probabilities(model, x).argmax(axis=1) == y).mean())
    tw.log(train_accuracy=accuracy, nodes=fitted.node_count)
    print(f"tree of depth {fitted.max_depth}: accuracy {accuracy:.4f} on the training rows")


def describe(fitted, node: int) -> dict:
    """Return one node of a scikit-learn tree: a question with two ways on, or a leaf."""
    yes, no = int(fitted.children_left[node]), int(fitted.children_right[node])
    if yes == no:  # both are -1: a leaf
        return {"probabilities": fitted.value[node][0].tolist()}
    return {"feature": int(fitted.feature[node]), "at_most": float(fitted.threshold[node]), "yes": yes, "no": no}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help="folder with train.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    parser.add_argument("--depth", type=int, default=4, help="at most so many questions")
    parser.add_argument("--seed", type=int, default=7, help="decides between equally good questions")
    fit(**vars(parser.parse_args()))
