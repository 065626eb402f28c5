"""Train softmax regression by mini-batch gradient descent; stopped and started again, it ends with the same weights."""

import argparse
import sys
from pathlib import Path

import numpy as np
from softmax import Softmax

import trainwright as tw

BATCH = 32
SAVE_EVERY = 5  # epochs
STOPPED = 143  # what a shell says of a process that ended at SIGTERM


def train(args: argparse.Namespace) -> None:
    tw.params(seed=args.seed, device="cpu")
    with np.load(args.arrays / "train.npz", allow_pickle=False) as data:
        x, y = data["x"], data["y"]
    model, done = start(args.initial)
    decay = 1 / (args.C * len(x))  # C weighs the loss summed over the rows, as in scikit-learn

    for epoch in range(done + 1, args.epochs + 1):
        rng = np.random.default_rng([args.seed, epoch])  # of this epoch alone, so that a resumed one is the same
        for rows in np.array_split(rng.permutation(len(x)), len(x) // BATCH):
            model = descend(model, x[rows], y[rows], args.lr, decay)

        loss, accuracy = judge(model, x, y)
        tw.log(loss=loss, accuracy=accuracy, step=epoch)
        tw.progress(epoch, args.epochs)
        print(f"epoch {epoch:3}/{args.epochs}  loss {loss:.4f}  accuracy {accuracy:.4f}")

        stop = tw.should_stop()
        if epoch < args.epochs and (stop or epoch % SAVE_EVERY == 0):
            save_checkpoint(model, epoch)
            if stop:
                sys.exit(STOPPED)

    model.save(args.out)


def descend(model: Softmax, x: np.ndarray, y: np.ndarray, lr: float, decay: float) -> Softmax:
    """Return the model one step further down the mean cross-entropy + decay/2 · |W|²."""
    error = (model.probabilities(x) - np.eye(len(model.b))[y]) / len(x)
    return Softmax(W=model.W - lr * (x.T @ error + decay * model.W), b=model.b - lr * error.sum(axis=0))


def judge(model: Softmax, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return mean cross-entropy and accuracy (0..1)."""
    p = model.probabilities(x)
    return float(-np.log(p[np.arange(len(y)), y]).mean()), float((p.argmax(axis=1) == y).mean())


def start(initial: Path) -> tuple[Softmax, int]:
    """Return the model to go on from and how many epochs it has seen."""
    latest = tw.checkpoint.latest()
    if latest is None:
        return Softmax.load(initial), 0
    return Softmax.load(Path(latest)), int((Path(latest) / "epoch").read_text())


def save_checkpoint(model: Softmax, epoch: int) -> None:
    with tw.checkpoint.save(epoch) as path:
        model.save(Path(path))
        (Path(path) / "epoch").write_text(str(epoch))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrays", type=Path, required=True, help="folder with train.npz")
    parser.add_argument("--initial", type=Path, required=True, help="folder of the model to start from")
    parser.add_argument("--out", type=Path, required=True, help="folder for the trained model")
    parser.add_argument("--C", type=float, default=1.0, help="inverse regularisation")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=0.1, help="step size")
    parser.add_argument("--seed", type=int, default=7)
    train(parser.parse_args())
