"""trainwright: from a pipeline file to a model in production, and how to make it again.

``import trainwright as tw`` costs next to nothing: what a script or a pipeline uses is loaded on first use, the control
plane when a notebook reads runs.
"""

TYPE_CHECKING = False  # what type checkers take for true; importing typing would cost more than all the rest

if TYPE_CHECKING:
    from trainwright.dsl.commands import check_data, command, register, torchrun, use
    from trainwright.dsl.errors import PipelineError
    from trainwright.dsl.params import param
    from trainwright.dsl.pipelines import pipeline
    from trainwright.dsl.references import each, loop, matrix, prev
    from trainwright.dsl.running import RunFailed
    from trainwright.dsl.steps import pickle, step
    from trainwright.notebook.reading import compare, load_model, plan_of, ps, show
    from trainwright.runtime.calls import checkpoint, inputs, log, outputs, params, progress, should_stop, signature
    from trainwright.runtime.dataset import Dataset
    from trainwright.runtime.drift import drift
    from trainwright.runtime.expect import expect

__all__ = [
    "Dataset",
    "PipelineError",
    "RunFailed",
    "check_data",
    "checkpoint",
    "command",
    "compare",
    "drift",
    "each",
    "expect",
    "inputs",
    "load_model",
    "log",
    "loop",
    "matrix",
    "outputs",
    "param",
    "params",
    "pickle",
    "pipeline",
    "plan_of",
    "prev",
    "progress",
    "ps",
    "register",
    "should_stop",
    "show",
    "signature",
    "step",
    "torchrun",
    "use",
]
__version__ = "0.1.0"

_READING = frozenset({"compare", "load_model", "plan_of", "ps", "show"})
"""For notebooks; these load the control plane."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: this is what keeps the import light."""
    if name in _READING:
        from trainwright.notebook import reading  # noqa: PLC0415

        return getattr(reading, name)
    from trainwright.runtime.public import HOMES  # noqa: PLC0415

    for module, names in HOMES.items():
        if name in names:
            return getattr(__import__("trainwright." + module, fromlist=(name,)), name)
    raise AttributeError(f"module 'trainwright' has no attribute {name!r}")
