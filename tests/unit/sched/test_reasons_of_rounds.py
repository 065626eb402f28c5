"""Every reason that a scheduling round gives reads as a sentence once its numbers are there."""

from string import Formatter

import pytest

from trainwright.core.reasons import CATALOGUE, Reason, ReasonCode

SCHEDULED = (
    "waiting-for-quota", "above-ceiling", "never-within-quota", "on-hold", "behind", "behind-reservation",
    "waiting-for-victims", "scattered", "cooling-down", "outside-window", "over-budget", "too-expensive",
    "adding-nodes", "waiting-for-time-slice", "preempted", "reclaimed", "time-sliced", "resized", "node-lost",
)  # fmt: skip


@pytest.mark.parametrize("code", SCHEDULED)
def test_a_reason_with_its_numbers_has_no_gap(code: str) -> None:
    entry = CATALOGUE[ReasonCode(code)]
    names = {name for _, name, _, _ in Formatter().parse(entry.sentence + entry.remedy) if name}
    reason = Reason(ReasonCode(code), {name: f"<{name}>" for name in names})
    assert names
    assert all(f"<{name}>" in reason.sentence() + reason.remedy() for name in names)
    assert "?" in Reason(ReasonCode(code)).sentence()
