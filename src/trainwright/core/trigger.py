"""Triggers as a pipeline file declares them: what starts its runs without a person."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from trainwright.core.scalar import Plain
from trainwright.core.states import RunState


class TriggerKind(StrEnum):
    """What a trigger waits for; also the key that says so in a pipeline file."""

    CRON = "cron"
    DATASET = "dataset"
    RUN = "run"
    WEBHOOK = "webhook"


class RunEnd(StrEnum):
    """Which ends of the other pipeline's runs count."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ANY = "any"

    def counts(self, state: RunState) -> bool:
        """Tell whether a run that ended in ``state`` is one of them; a cancelled one only for ``any``."""
        return self is RunEnd.ANY or self.value == state.value


LAST = 1
"""``catch_up: last``: of several missed times, one."""


@dataclass(frozen=True, slots=True)
class TriggerSpec:
    """One entry below ``triggers:``.

    Attributes:
        name: within the pipeline.
        subject: the cron expression, ``datasets/NAME``, the other pipeline, or the name of the webhook.
        timezone: of a cron expression; empty for the other kinds.
        params: for its runs; the rest have their defaults.
        catch_up: how many of the missed times are made up for, newest first; 0 = none.
        debounce_s: seconds without a further event before several become one run; 0 = each at once.
        on: which ends of the other pipeline count.
    """

    name: str
    kind: TriggerKind
    subject: str
    timezone: str = ""
    params: Mapping[str, Plain] = field(default_factory=dict)
    catch_up: int = LAST
    debounce_s: float = 0.0
    on: RunEnd = RunEnd.SUCCEEDED

    def watches_the_same(self, other: "TriggerSpec") -> bool:
        """Tell whether both have the same events, so that one can go on where the other stopped."""
        mine = (self.kind, self.subject, self.timezone)
        return mine == (other.kind, other.subject, other.timezone)
