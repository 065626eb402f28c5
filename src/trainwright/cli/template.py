"""What ``tw init`` writes: a small pipeline that runs as it is."""

from pathlib import Path

from trainwright.core.errors import ConflictError

PIPELINE = """\
# Two steps and a registered model. Next: tw run pipeline.yaml
pipeline: first
params:
  slope: {type: float, default: 2.0, range: [0.1, 10], help: "slope of the made-up line"}
  seed: 7
steps:
  train:
    stage: training
    run: python train.py --slope ${{ params.slope }} --seed ${{ params.seed }} --model ${{ out.model }}
    out: {model: model}
  evaluate:
    run: python evaluate.py --model ${{ train.model }} --slope ${{ params.slope }}
    check: "error <= 0.1"
  register: {uses: register, with: {model: train.model, name: first, alias: candidate}}
"""

TRAIN = """\
\"\"\"Fit a line to noisy points, by gradient descent.\"\"\"

import argparse
import json
import random
from pathlib import Path

import trainwright as tw

parser = argparse.ArgumentParser()
parser.add_argument("--slope", type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--model", type=Path, required=True)
args = parser.parse_args()

tw.params(device="cpu")
rng = random.Random(args.seed)
points = [(x / 50, args.slope * x / 50 + rng.gauss(0, 0.05)) for x in range(100)]
weight = 0.0
for epoch in range(50):
    gradient = sum(2 * (weight * x - y) * x for x, y in points) / len(points)
    weight -= 0.2 * gradient
    loss = sum((weight * x - y) ** 2 for x, y in points) / len(points)
    tw.log(loss=loss, step=epoch)
    tw.progress(epoch + 1, 50)
args.model.mkdir()
(args.model / "model.json").write_text(json.dumps({"weight": weight}))
print(f"weight {weight:.3f}")
"""

EVALUATE = """\
\"\"\"Compare the fitted slope with the true one.\"\"\"

import argparse
import json
from pathlib import Path

import trainwright as tw

parser = argparse.ArgumentParser()
parser.add_argument("--model", type=Path, required=True)
parser.add_argument("--slope", type=float, required=True)
args = parser.parse_args()

weight = json.loads((args.model / "model.json").read_text())["weight"]
tw.log(error=abs(weight - args.slope) / args.slope)
"""

FILES = {"pipeline.yaml": PIPELINE, "train.py": TRAIN, "evaluate.py": EVALUATE}


def write_project(folder: Path) -> list[Path]:
    """Write the project; return what was written.

    Raises:
        ConflictError: a file of that name exists; nothing was written.
    """
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise ConflictError(
            "TW5201",
            f"{folder / there[0]} exists already",
            why="init never overwrites",
            remedy="choose another folder: tw init FOLDER",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in FILES]
