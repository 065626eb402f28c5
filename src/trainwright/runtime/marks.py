"""Names of small files that tell something by being there."""

from __future__ import annotations

STOP = "stop"
"""In an attempt's folder: it is to end; holds why."""

PREEMPT = "preempt"
"""In an attempt's folder: it is to give its room back within a grace; holds both, see ``runtime.notice``."""

SAVED = ".saved"
"""In the folder of a step's checkpoints: touched whenever one was committed."""
