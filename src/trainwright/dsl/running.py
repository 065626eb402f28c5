"""``digits.run()``: hands the traced pipeline to ``tw`` in a process of its own, and reads what came of it.

The author's process never loads the control plane: it stays as it is, with its threads, signals and imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from trainwright.dsl.drawing import loading, plain
from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_SUCCEEDED = "succeeded"


class Result:
    """What became of a run.

    Attributes:
        id: of the run; ``tw show ID`` says everything about it.
        state: ``succeeded``, ``failed`` or ``cancelled``.
        metrics: last value of every metric, as ``evaluate.auc``.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.id: str = told["id"]
        self.state: str = told["state"]
        self.metrics: dict[str, float] = {name: float(value) for name, value in told["metrics"].items()}
        self._outputs: dict[str, dict[str, str]] = told["outputs"]
        self._store: str = told["store"]
        self._project: str = told["project"]

    def __repr__(self) -> str:
        return f"<run {self.id} {self.state}>"

    def path(self, name: str) -> Path:
        """Return where an output can be read: a read-only file or folder.

        Raises:
            KeyError: the run has no such output.
        """
        from pathlib import Path

        from trainwright.runtime.checkout import checkout

        return Path(checkout(self._store, self._output(name)["digest"]))

    def output(self, name: str) -> Any:
        """Return an output as a function would get it: ``result.output("train.model")``.

        Raises:
            KeyError: the run has no such output.
        """
        from trainwright.runtime.values import load

        return load(str(self.path(name)), self._output(name)["kind"], self._project)

    def _output(self, name: str) -> dict[str, str]:
        if name not in self._outputs:
            known = ", ".join(sorted(self._outputs)) or "none"
            raise KeyError(f"the run has no output {name!r}; it has: {known}")
        return self._outputs[name]


class RunFailed(Exception):  # noqa: N818 - a script catches it by this name
    """A run ended otherwise than well; its verdict is the message.

    Attributes:
        result: of the run, with its id and state.
    """

    def __init__(self, verdict: str, result: Result) -> None:
        super().__init__(verdict)
        self.result = result


class Planned:
    """What a run would do.

    Attributes:
        digest: of the plan; equal pipelines have equal ones.
        steps: their names in order.
        plan: all of it, as plain values.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.digest: str = told["digest"]
        self.plan: dict[str, Any] = told["plan"]
        self.steps: list[str] = [step["name"] for step in self.plan["steps"]]

    def __repr__(self) -> str:
        return f"<plan {self.digest[7:19]}>"


def run(traced: dict[str, Any], params: dict[str, Any]) -> Result:
    """See ``Pipeline.run``."""
    told = _tell(traced, "run", params)
    result = Result(told)
    if result.state != _SUCCEEDED:
        raise RunFailed(told["verdict"], result)
    return result


def plan(traced: dict[str, Any], params: dict[str, Any]) -> Planned:
    """See ``Pipeline.plan``."""
    return Planned(_tell(traced, "plan", params))


def _tell(traced: dict[str, Any], verb: str, params: dict[str, Any]) -> dict[str, Any]:
    """Let ``tw`` do it; return its answer.

    Raises:
        PipelineError: refused before anything was queued.
        KeyboardInterrupt: the person let go of the run; it goes on.
    """
    _refuse_while_loaded()
    order = {"verb": verb, "traced": traced, "params": {k: plain(v, k) for k, v in params.items()}}
    with tempfile.TemporaryDirectory(prefix="tw-") as folder:
        with open(os.path.join(folder, "order.json"), "w", encoding="utf-8") as file:
            json.dump(order, file)
        sys.stdout.flush()
        code = _wait([sys.executable, "-m", "trainwright.cli.main", "traced", folder])
        try:
            with open(os.path.join(folder, "answer.json"), encoding="utf-8") as file:
                answer: dict[str, Any] = json.load(file)
        except OSError:
            if code == 130:  # noqa: PLR2004 - what a shell says of Ctrl-C
                raise KeyboardInterrupt from None
            raise RuntimeError(f"tw ended with exit code {code} and no answer") from None
    if "problem" in answer:
        raise PipelineError(**answer["problem"])
    return answer


def _refuse_while_loaded() -> None:
    """Refuse to start a run from a file that a job, or ``tw``, only imports: each run would start others."""
    if loading.get() or os.environ.get("TW_ATTEMPT_DIR"):
        raise PipelineError(
            "TW1116",
            "the file starts a run when it is only loaded",
            where=caller(),
            why="tw, and every step, loads the file to find its functions",
            remedy='put the call below: if __name__ == "__main__":',
        )


def _wait(command: list[str]) -> int:
    """Run a command that handles Ctrl-C itself; return its exit code."""
    process = subprocess.Popen(command)  # noqa: S603 - our own
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # noqa: PERF203 - it reached tw too, which lets go of the run and says so
            continue
