"""Finding runs with conditions, ranking them, and looking at several side by side."""

import re

import pytest
from shell import Shell, strict_json

LOSSES = ("0.5", "0.1", "float('nan')", "float('inf')")
PIPELINE = """\
pipeline: diverge
params: {value: "0.5", lr: 0.1, tag: plain}
steps:
  train:
    run: |
      python -c "import os, trainwright as tw; tw.log(loss=float(os.environ['VALUE']))"
    env: {VALUE: "${{ params.value }}"}
  evaluate:
    needs: [train]
    run: |
      python -c "import trainwright as tw; tw.log(auc=0.9, loss=0.25)"
"""
