"""The calls a script may use inside a job, as ``import trainwright as tw`` offers them.

Outside a job every one is harmless, so that the script also runs by hand. A job is known by ``TW_ATTEMPT_DIR``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from trainwright.runtime import plainjson, replicas
from trainwright.runtime.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["checkpoint", "inputs", "log", "outputs", "params", "progress", "should_stop", "signature"]

_journals: dict[str, Journal] = {}  # one a process; tests go through several


def log(step: int | None = None, **metrics: object) -> None:
    """Log one point of some metrics: ``tw.log(loss=0.3, step=10)``.

    Args:
        step: of the training; None for a figure that has none.
        metrics: numbers, also of numpy or torch; NaN and infinities are kept; a bool counts as 1 or 0.

    Raises:
        TypeError: a value is not a number, or ``step`` is not a whole one.
    """
    values = {name: v if type(v) is float else _number(name, v) for name, v in metrics.items()}
    if step is not None and type(step) is not int:
        step = _whole(step)
    journal = _journal()
    if journal is not None and values:
        journal.metrics(step, values)


def params(**facts: object) -> None:
    """Note facts of this attempt: ``tw.params(seed=7, device="cpu")``.

    The same value again is quiet.

    Raises:
        ParamConflict: a fact differs from the run's parameter of that name, or from what this attempt noted before; the
            others are stored.
        TypeError: a value is neither a number, text, bool or None nor a list or mapping of them.
    """
    plain = {key: _plain(key, value) for key, value in facts.items()}
    journal = _journal()
    if journal is not None:
        journal.params(plain)


def progress(done: float, total: float) -> None:
    """Tell how far it is: ``tw.progress(3, 10)``.

    Raises:
        TypeError: one of them is not a number.
    """
    made, whole = _number("done", done), _number("total", total)
    journal = _journal()
    if journal is not None:
        journal.progress(plainjson.number(made), plainjson.number(whole))  # type: ignore[arg-type] # words for NaN


def should_stop() -> bool:
    """Tell whether this attempt was asked to end, or to give its room back; save and leave then. Costs microseconds."""
    journal = _journal()
    return journal is not None and any(map(os.path.exists, journal.stop_files))


def signature(model: object = None, *, inputs: object = None, outputs: object = None, output: str = "") -> None:
    """State what the model of this step takes and gives: ``tw.signature(inputs={"age": "float64"}, outputs={…})``.

    Names map to types, which are free text; a list of names, or a table, does as well. A fitted scikit-learn estimator
    says the names of its features itself: ``tw.signature(model)``.

    Args:
        model: an estimator; what it does not say is taken from the other arguments.
        inputs: name → type, names, or a table with columns.
        outputs: the same.
        output: of the step, when it makes several models.

    Raises:
        ParamConflict: this attempt stated something else before.
        TypeError: names and types are no text.
    """
    from trainwright.runtime import signatures

    stated = signatures.stated(model, inputs, outputs)
    params(**{f"{signatures.FACT}.{output}" if output else signatures.FACT: stated})


class _Checkpoint:
    """What ``tw.checkpoint`` is."""

    def latest(self) -> Path | None:
        """Return the folder of the newest valid checkpoint of this step, or None; its bytes were verified."""
        folder = os.environ.get("TW_CHECKPOINT_DIR")
        if not folder:
            return None
        from pathlib import Path

        from trainwright.runtime.checkpoint import Checkpoints

        found = Checkpoints(folder).latest()
        return None if found is None else Path(found)

    def save(self, step: int) -> AbstractContextManager[Path]:
        """Return a context that yields an empty folder and, left without an error, commits it as a checkpoint.

        ``with tw.checkpoint.save(step) as path: …``. Outside a job the folder is temporary, as it is in replicas of a
        gang but the first: their checkpoint is the one of replica 0.

        Raises:
            TypeError: ``step`` is not a whole number.
            ValueError: it is negative.
        """
        import tempfile
        from contextlib import contextmanager
        from pathlib import Path

        from trainwright.runtime.checkpoint import Checkpoints

        folder = os.environ.get("TW_CHECKPOINT_DIR")
        kept = folder and replicas.counts(os.environ)
        saving = Checkpoints(str(folder)).save(_whole(step)) if kept else tempfile.TemporaryDirectory()

        @contextmanager
        def yielding() -> Iterator[Path]:
            with saving as path:
                yield Path(path)

        return yielding()


class _Places(Mapping):  # type: ignore[type-arg] # not subscriptable at run time before 3.9's typing
    """What ``tw.inputs`` and ``tw.outputs`` are: name → path."""

    def __init__(self, variable: str, what: str) -> None:
        self._variable = variable
        self._what = what

    def __getitem__(self, name: str) -> Path:
        from pathlib import Path

        places = self._places()
        if name in places:
            return Path(places[name])
        if not os.environ.get(self._variable):
            raise KeyError(f"there is no {self._what} {name!r}: this script does not run inside a job (tw run FILE)")
        known = ", ".join(sorted(places)) or "none"
        raise KeyError(f"the step has no {self._what} {name!r}; it has: {known}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places())

    def __len__(self) -> int:
        return len(self._places())

    def _places(self) -> dict[str, str]:
        found: dict[str, str] = plainjson.loads(os.environ.get(self._variable) or "{}")
        return found


checkpoint = _Checkpoint()
inputs = _Places("TW_INPUTS", "input")
outputs = _Places("TW_OUTPUTS", "output")


def _journal() -> Journal | None:
    folder = os.environ.get("TW_ATTEMPT_DIR")
    if not folder:
        return None
    journal = _journals.get(folder)
    if journal is None:
        journal = _journals[folder] = Journal(folder)
    return journal


def _number(name: str, value: object) -> float:
    try:
        item = getattr(value, "item", None)
        plain = item() if callable(item) else value
        if not isinstance(plain, (str, bytes, bytearray)):
            return float(plain)  # type: ignore[arg-type] # what has no float raises
    except (TypeError, ValueError, OverflowError, RuntimeError):  # torch: more than one element
        pass
    raise TypeError(f"{name}={value!r} is not a number; note what is not one with tw.params({name}=…)")


def _whole(step: object) -> int:
    value = _number("step", step)
    if not value.is_integer():
        raise TypeError(f"step={step!r} is not a whole number")
    return int(value)


def _plain(key: str, value: object) -> object:
    """Return the JSON shape of a fact."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return plainjson.number(float(value))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(key, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(key, v) for v in value]
    convert = getattr(value, "tolist", None) or getattr(value, "item", None)  # numpy, torch
    if callable(convert):
        return _plain(key, convert())
    raise TypeError(f"{key}={value!r} cannot be noted: give a number, a text, or a list or mapping of them")
