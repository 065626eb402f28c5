"""The work of six stages as plain functions: values in, values out; a test calls them without any pipeline."""

import numpy as np
import pandas as pd

import trainwright as tw

CLASSES, DARKEST, BATCH = 10, 16, 32


def prep(raw: tw.Dataset) -> pd.DataFrame:
    table = raw.pandas(header=None)  # 64 pixels and the digit
    table.columns = [*(f"pixel{i}" for i in range(64)), "digit"]
    good = table.dropna()
    tw.log(rows=len(good), null_rate=float(table.isna().to_numpy().mean()))
    return good


def features(table: pd.DataFrame, test_share: float, seed: int) -> dict[str, np.ndarray]:
    x, y = table.drop(columns="digit").to_numpy() / DARKEST, table["digit"].to_numpy()
    test = np.random.default_rng(seed).random(len(y)) < test_share
    tw.log(rows=len(y), features=x.shape[1])
    return {"x": x[~test], "y": y[~test], "x_test": x[test], "y_test": y[test]}


def init(arrays: dict[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    weights = np.random.default_rng(seed).normal(scale=0.01, size=(arrays["x"].shape[1], CLASSES))
    tw.params(seed=seed)
    tw.log(parameters=weights.size + CLASSES)
    return {"W": weights, "b": np.zeros(CLASSES)}


def train(arrays: dict, initial: dict, C: float, epochs: int, lr: float, seed: int) -> dict[str, np.ndarray]:
    tw.params(seed=seed, device="cpu")
    x, y, W, b = arrays["x"], arrays["y"], initial["W"], initial["b"]
    for epoch in range(1, epochs + 1):
        order = np.random.default_rng([seed, epoch]).permutation(len(x))
        for rows in np.array_split(order, len(x) // BATCH):
            error = (probabilities(x[rows], W, b) - np.eye(CLASSES)[y[rows]]) / len(rows)
            W = W - lr * (x[rows].T @ error + W / (C * len(x)))
            b = b - lr * error.sum(axis=0)
        p = probabilities(x, W, b)
        loss = float(-np.log(p[np.arange(len(y)), y]).mean())
        tw.log(loss=loss, accuracy=float((p.argmax(axis=1) == y).mean()), step=epoch)
        tw.progress(epoch, epochs)
    return {"W": W, "b": b}


def evaluate(model: dict[str, np.ndarray], arrays: dict[str, np.ndarray]) -> list[list[int]]:
    from sklearn.metrics import confusion_matrix, roc_auc_score  # slow to import, and no other step needs it

    p, y = probabilities(arrays["x_test"], model["W"], model["b"]), arrays["y_test"]
    tw.log(auc=float(roc_auc_score(y, p, multi_class="ovr")), accuracy=float((p.argmax(axis=1) == y).mean()))
    return confusion_matrix(y, p.argmax(axis=1)).tolist()


def probabilities(x: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return rows × classes, each row adding up to 1."""
    scores = np.exp(x @ W + b - (x @ W + b).max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)
