"""Softmax regression, and how it is kept: a folder with ``model.json`` and ``weights.npz``, nothing to unpickle."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Softmax:
    """A linear model of class probabilities.

    Attributes:
        W: features × classes.
        b: classes.
    """

    W: np.ndarray
    b: np.ndarray

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Return rows × classes, each row adding up to 1."""
        scores = x @ self.W + self.b
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))  # the largest becomes 1: no overflow
        return scores / scores.sum(axis=1, keepdims=True)

    def save(self, folder: Path) -> None:
        """Write the model into ``folder``; equal weights give equal bytes."""
        features, classes = self.W.shape
        folder.mkdir(parents=True, exist_ok=True)
        about = {"kind": "softmax-regression", "features": features, "classes": classes}
        (folder / "model.json").write_text(json.dumps(about, indent=2) + "\n")
        np.savez(folder / "weights.npz", W=self.W, b=self.b)

    @classmethod
    def load(cls, folder: Path) -> "Softmax":
        """Return the model that ``save`` wrote."""
        with np.load(folder / "weights.npz", allow_pickle=False) as weights:
            return cls(weights["W"], weights["b"])
