"""The names of ``import trainwright as tw`` and the modules that they are in: installed, and in the bundle of a job."""

from __future__ import annotations

HOMES = {
    "dsl.commands": ("check_data", "command", "register", "torchrun", "use"),
    "dsl.errors": ("PipelineError",),
    "dsl.params": ("param",),
    "dsl.pipelines": ("pipeline",),
    "dsl.references": ("each", "loop", "matrix", "prev"),
    "dsl.running": ("RunFailed",),
    "dsl.steps": ("pickle", "step"),
    "runtime.calls": ("checkpoint", "inputs", "log", "outputs", "params", "progress", "should_stop", "signature"),
    "runtime.dataset": ("Dataset",),
    "runtime.drift": ("drift",),
    "runtime.expect": ("expect",),
}
