"""trainwright: from a pipeline file to a model in production, and how to make it again.

``import trainwright as tw`` costs next to nothing: the calls that a script makes inside a job are loaded on first use,
the control plane never.
"""

TYPE_CHECKING = False  # what type checkers take for true; importing typing would cost more than all the rest

if TYPE_CHECKING:
    from trainwright.runtime.calls import checkpoint, inputs, log, outputs, params, progress, should_stop

__all__ = ["checkpoint", "inputs", "log", "outputs", "params", "progress", "should_stop"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load an in-job call when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'trainwright' has no attribute {name!r}")
    from trainwright.runtime import calls  # noqa: PLC0415 - this is what keeps the import light

    return getattr(calls, name)
