"""What a table of penguins looks like, and how it is read."""

import csv
from pathlib import Path

import numpy as np

SPECIES = ("Adelie", "Chinstrap", "Gentoo")
MEASURES = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
FEATURES = (*MEASURES, "male")


def read_table(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features, rows × ``FEATURES``, and species as indices of ``SPECIES``."""
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    x = np.array([[float(row[name]) for name in FEATURES] for row in rows])
    return x, np.array([SPECIES.index(row["species"]) for row in rows])
