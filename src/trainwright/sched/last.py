"""The last round: as long as nothing is different, what it found out still holds."""

from dataclasses import fields
from datetime import datetime

from trainwright.core.decision import Round
from trainwright.core.records import Records
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.sched.policy import Policy

_PARTS = tuple(part.name for part in fields(ClusterSnapshot))


class Last:
    """A round that decided nothing but who waits, and for what world it was made."""

    def __init__(self) -> None:
        """Know of none."""
        self._made: tuple[ClusterSnapshot, Policy, datetime, Round] | None = None

    def again(self, snapshot: ClusterSnapshot, policy: Policy, now: datetime) -> Round | None:
        """Return it when it is what would be decided now; None when that must be found out.

        Time alone changes nothing before ``wake_at``: whoever lets it matter says so there.
        """
        if self._made is None:
            return None
        before, its_policy, at, decided = self._made
        awake = now < at or (decided.wake_at is not None and decided.wake_at <= now)
        return None if awake or its_policy != policy or not _is_same(before, snapshot) else decided

    def keep(
        self, snapshot: ClusterSnapshot, policy: Policy, now: datetime, decided: Round, *, drifts: bool = False
    ) -> Round:
        """Return the round, and remember it when it left the world as it was and time changes nothing by itself."""
        acts = (
            decided.placements or decided.evictions or decided.resizes or drifts or _has_new_claims(snapshot, decided)
        )
        self._made = None if acts else (snapshot, policy, now, decided)
        return decided


def _is_same(before: ClusterSnapshot, after: ClusterSnapshot) -> bool:
    """Tell whether the two are the same; series only when they are the very same objects, which is found at once."""
    for name in _PARTS:
        one, other = getattr(before, name), getattr(after, name)
        if one is not other and (isinstance(one, Records) or one != other):
            return False
    return True


def _has_new_claims(snapshot: ClusterSnapshot, decided: Round) -> bool:
    """Tell whether a round holds room that is not held yet: which room it is depends on the time at which it chose."""
    return any(snapshot.pending[claim.attempt].standing.claim != claim.places for claim in decided.claims)
