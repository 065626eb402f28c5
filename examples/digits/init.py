"""Make the model that training starts from: small random weights."""

import argparse
from pathlib import Path

import numpy as np
from softmax import Softmax

import trainwright as tw

CLASSES = 10


def init(arrays: Path, out: Path, seed: int) -> None:
    with np.load(arrays / "train.npz", allow_pickle=False) as train:
        features = train["x"].shape[1]
    rng = np.random.default_rng(seed)
    model = Softmax(W=rng.normal(scale=0.01, size=(features, CLASSES)), b=np.zeros(CLASSES))
    model.save(out)

    parameters = model.W.size + model.b.size
    tw.params(seed=seed)
    tw.log(parameters=parameters)
    print(f"{parameters} parameters from seed {seed}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrays", type=Path, required=True, help="folder with train.npz")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    parser.add_argument("--seed", type=int, default=7)
    init(**vars(parser.parse_args()))
