"""The two kinds of model, as the JSON they are kept in: whoever reads one needs neither scikit-learn nor pickle."""

import json
from pathlib import Path

import numpy as np


def save(model: dict, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(json.dumps(model, indent=2) + "\n")


def load(folder: Path) -> dict:
    return json.loads((folder / "model.json").read_text())


def probabilities(model: dict, x: np.ndarray) -> np.ndarray:
    """Return rows × species, each row adding up to 1."""
    match model["kind"]:
        case "logistic":
            scores = x @ np.array(model["weights"]).T + np.array(model["bias"])
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            return scores / scores.sum(axis=1, keepdims=True)
        case "tree":
            return np.array([_ask(model["nodes"], row) for row in x])
        case kind:
            raise ValueError(f"no such kind of model: {kind!r}")


def _ask(nodes: list[dict], row: np.ndarray) -> list[float]:
    node = nodes[0]
    while "feature" in node:
        node = nodes[node["yes"] if row[node["feature"]] <= node["at_most"] else node["no"]]
    return node["probabilities"]
