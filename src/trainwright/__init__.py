"""trainwright: from a pipeline file to a model in production, and how to make it again.

``import trainwright as tw`` costs next to nothing: the calls that a script makes inside a job are loaded on first use,
the control plane when a notebook reads runs.
"""

TYPE_CHECKING = False  # what type checkers take for true; importing typing would cost more than all the rest

if TYPE_CHECKING:
    from trainwright.notebook.reading import compare, plan_of, ps, show
    from trainwright.runtime.calls import checkpoint, inputs, log, outputs, params, progress, should_stop

__all__ = [
    "checkpoint",
    "compare",
    "inputs",
    "log",
    "outputs",
    "params",
    "plan_of",
    "progress",
    "ps",
    "should_stop",
    "show",
]
__version__ = "0.1.0"

_READING = frozenset({"compare", "plan_of", "ps", "show"})
"""For notebooks; these load the control plane."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: this is what keeps the import light."""
    if name not in __all__:
        raise AttributeError(f"module 'trainwright' has no attribute {name!r}")
    if name in _READING:
        from trainwright.notebook import reading  # noqa: PLC0415

        return getattr(reading, name)
    from trainwright.runtime import calls  # noqa: PLC0415

    return getattr(calls, name)
