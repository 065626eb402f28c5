"""What queues have and what is theirs by right, for people: deserved, used, borrowed, lent, and who may reclaim."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trainwright.core.queue import QueueName
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.sched.amounts import wanted_amounts
from trainwright.sched.fairshare import Shares
from trainwright.sched.limits import Limit
from trainwright.sched.memory import Memory
from trainwright.sched.policy import Ordering
from trainwright.sched.quota import Ledger


@dataclass(frozen=True, slots=True)
class Use:
    """Of one queue and one resource that it has a quota for, in the units of ``core.queue.Amounts``.

    Attributes:
        guaranteed: as declared; of a queue without a cohort all that it may hold.
        ceiling: as declared; None = no ceiling of its own.
        used: held, by those too who are leaving.
        wanted: asked for by those who wait.
        deserved: what it would hold if all that is lent were shared out anew, by weight, among those who want it.
        borrowed_from: lender → amount; ``cohort NAME`` is what the cohort has beside guarantees.
        lent_to: borrower → amount.
        may_reclaim: of its guarantee, what it wants now and does not get without somebody giving it back.
    """

    guaranteed: int
    ceiling: int | None
    used: int
    wanted: int
    deserved: int
    borrowed_from: Mapping[str, int] = field(default_factory=dict)
    lent_to: Mapping[str, int] = field(default_factory=dict)
    may_reclaim: int = 0


@dataclass(frozen=True, slots=True)
class QueueReport:
    """One queue.

    Attributes:
        share: by which queues are put in order: see ``fairshare``.
        used: all that it holds, whether there is a quota for it or not.
        waiting: workloads.
        holding: workloads.
        quotas: resource → use; sorted.
    """

    name: QueueName
    cohort: str
    weight: float
    share: float
    used: Mapping[str, int]
    waiting: int
    holding: int
    quotas: Mapping[str, Use]


def report(snapshot: ClusterSnapshot, ordering: Ordering, memory: Memory | None = None) -> tuple[QueueReport, ...]:
    """Return all queues that are declared, hold something or have somebody waiting, sorted by name."""
    ledger = (memory or Memory()).part(Ledger).as_of(snapshot)
    shares = Shares(snapshot, ordering, ledger)
    waiting = Counter(w.queue for w in snapshot.pending)
    holding = Counter(w.queue for w in snapshot.holding)
    uses = _uses(ledger, _wanted(snapshot))
    found = []
    for name in sorted({*snapshot.queues, *waiting, *holding}):
        queue = snapshot.queues.get(name)
        used = {resource: amount for resource, amount in sorted(ledger.used(name).items()) if amount}
        found.append(
            QueueReport(
                name,
                queue.cohort if queue is not None else "",
                queue.weight if queue is not None else 1.0,
                shares.share(name),
                used,
                waiting[name],
                holding[name],
                {resource: uses[name, resource] for resource in sorted(ledger.limits.get(name, {}))},
            )
        )
    return tuple(found)


_Uses = dict[tuple[QueueName, str], Use]


def _wanted(snapshot: ClusterSnapshot) -> Counter[tuple[QueueName, str]]:
    wanted: Counter[tuple[QueueName, str]] = Counter()
    for one in snapshot.pending:
        for resource, amount in wanted_amounts(one.shape).items():
            wanted[one.queue, resource] += amount
    return wanted


def _uses(ledger: Ledger, wanted: Mapping[tuple[QueueName, str], int]) -> _Uses:
    groups: dict[tuple[str, str], dict[QueueName, Limit]] = {}
    for name, limited in sorted(ledger.limits.items()):
        for resource, limit in limited.items():
            groups.setdefault((limit.cohort, resource), {})[name] = limit
    uses: _Uses = {}
    for (cohort, resource), limits in groups.items():
        uses.update(_shared(cohort, resource, limits, ledger, wanted))
    return uses


def _shared(
    cohort: str,
    resource: str,
    limits: Mapping[QueueName, Limit],
    ledger: Ledger,
    wanted: Mapping[tuple[QueueName, str], int],
) -> _Uses:
    """Return the uses of one resource by those who share it."""
    used = {name: ledger.used(name).get(resource, 0) for name in limits}
    asked = {name: wanted.get((name, resource), 0) for name in limits}
    capacity = next(iter(limits.values())).capacity
    deserved = _deserved(limits, {name: used[name] + asked[name] for name in limits}, capacity, ledger)
    beside = capacity - sum(limit.guaranteed for limit in limits.values())
    lenders = [(cohort, beside), *((name, limit.guaranteed - used[name]) for name, limit in limits.items())]
    borrowers = [(name, used[name] - limit.guaranteed) for name, limit in limits.items()]
    pairs = _lent(lenders, borrowers)
    free = capacity - sum(used.values())
    return {
        (name, resource): Use(
            limit.guaranteed,
            limit.ceiling,
            used[name],
            asked[name],
            deserved[name],
            {lender: amount for (lender, borrower), amount in pairs.items() if borrower == name},
            {borrower: amount for (lender, borrower), amount in pairs.items() if lender == name},
            max(0, min(limit.guaranteed - used[name], asked[name]) - max(free, 0)),
        )
        for name, limit in limits.items()
    }


def _deserved(
    limits: Mapping[QueueName, Limit], demand: Mapping[QueueName, int], capacity: int, ledger: Ledger
) -> dict[QueueName, int]:
    """Share out a capacity: guarantees first, as far as they are wanted, then the rest by weight, ceilings kept."""
    want = {name: min(demand[name], limit.most) for name, limit in limits.items()}
    has = {name: min(want[name], limit.guaranteed) for name, limit in limits.items()}
    left = capacity - sum(has.values())
    while left > 0:
        hungry = [name for name in limits if has[name] < want[name]]
        if not hungry:
            break
        total = sum(ledger.weight(name) for name in hungry)
        parts = {name: min(want[name] - has[name], int(left * ledger.weight(name) / total)) for name in hungry}
        if not any(parts.values()):  # less is left than one for each: the first by name get it
            parts = dict.fromkeys(hungry[:left], 1)
        for name, part in parts.items():
            has[name] += part
        left -= sum(parts.values())
    return has


def _lent(lenders: Iterable[tuple[str, int]], borrowers: Iterable[tuple[str, int]]) -> dict[tuple[str, str], int]:
    """Say who has lent how much to whom: what belongs to nobody goes first, then what those have who lend most."""
    pairs: dict[tuple[str, str], int] = {}
    nobodys, *others = lenders
    spare = dict([nobodys, *sorted(others, key=lambda pair: (-pair[1], pair[0]))])
    for borrower, amount in borrowers:
        missing = amount
        for lender, left in spare.items():
            part = min(missing, left)
            if part > 0:
                pairs[lender, borrower] = part
                spare[lender] = left - part
                missing -= part
    return pairs
