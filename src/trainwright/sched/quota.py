"""Quota: what queues hold, what they may still take, and why not more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from trainwright.core.ids import AttemptId
from trainwright.core.queue import Cohort, Queue, QueueName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.records import Records
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Preemption, Workload
from trainwright.sched.amounts import held_amounts, least_amounts, show_amount
from trainwright.sched.holders import Holders
from trainwright.sched.limits import Limit, Limits, limits_of
from trainwright.sched.machines import Machines

N = TypeVar("N", bound=str)

NAMED = 4
"""So many queues are named that hold what somebody waits for."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What keeps a workload from starting.

    Attributes:
        code: never-within-quota, above-ceiling or waiting-for-quota.
        asked, free: of the resource; ``free`` of what can ever be had where it is never.
    """

    code: ReasonCode
    resource: str
    asked: int
    free: int


_Amounts = dict[str, int]


@dataclass(slots=True)
class _Sums:
    """What is held, by whom it counts."""

    used: dict[QueueName, _Amounts]
    fixed: dict[QueueName, _Amounts]  # of that, by those who are never told to leave
    cohort: dict[str, _Amounts]

    def count(self, workload: Workload, amounts: Mapping[str, int], limits: Limits, sign: int) -> None:
        queue = workload.queue
        _add(self.used, queue, amounts, sign)
        limited = limits.get(queue)
        if limited:
            for resource, amount in amounts.items():
                if resource in limited:
                    _add(self.cohort, limited[resource].cohort, {resource: amount}, sign)
            if workload.contract.preemption is Preemption.NEVER:
                _add(self.fixed, queue, amounts, sign)


def _add(sums: dict[N, _Amounts], name: N, amounts: Mapping[str, int], sign: int) -> None:
    total = sums.get(name)
    if total is None:
        total = sums[name] = {}
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + sign * amount


def _of(sums: Mapping[N, _Amounts], name: N, resource: str) -> int:
    total = sums.get(name)
    return 0 if total is None else total.get(resource, 0)


_NOTHING: Mapping[str, int] = {}
_NOBODY = _Sums({}, {}, {})


def _most(workload: Workload, limit: Limit) -> int:
    """Return what it can ever be given."""
    never = workload.contract.preemption is Preemption.NEVER
    return min(limit.most, limit.guaranteed) if never else limit.most


class Ledger:
    """What every queue holds: as the snapshot says, and what was given away in this round.

    Attributes:
        limits: of all queues that have quotas.
        machines: the nodes it all lies on.
        holders: the names of all that hold something as the snapshot says.
    """

    def __init__(self) -> None:
        """Begin with nothing held."""
        self.limits: Limits = {}
        self.machines = Machines()
        self.holders = Holders()
        self._declared: tuple[Mapping[QueueName, Queue], Mapping[str, Cohort]] = ({}, {})
        self._by_model = -1  # the machines that amounts by model were counted on; -1: no quota is by model
        self._holding: Records[AttemptId, Workload] = Records()
        self._held: dict[AttemptId, tuple[Workload, dict[str, int]]] = {}
        self._sums = _Sums({}, {}, {})
        self._charged: list[tuple[Workload, dict[str, int]]] = []
        self._sharing: dict[tuple[str, str], list[QueueName]] = {}
        self._users_of: dict[tuple[str, str], tuple[int, str]] = {}  # of this round, and after how many charges

    def as_of(self, snapshot: ClusterSnapshot) -> "Ledger":
        """Return itself once it says what this snapshot says; charges of the last round are forgotten."""
        for workload, amounts in self._charged:
            self._sums.count(workload, amounts, self.limits, -1)
        self._charged.clear()
        self._users_of.clear()
        self.machines.as_of(snapshot.nodes)
        if not self._is_declared(snapshot) or self._by_model not in {-1, self.machines.version}:
            self._begin_again(snapshot)
        changed, gone = snapshot.holding.changed_since(self._holding)
        before = [self._held.pop(a) for a in (*gone, *(w.attempt for w in changed)) if a in self._held]
        self.holders.change([w.label for w, _ in before], [w.label for w in changed])
        for workload, amounts in before:
            self._sums.count(workload, amounts, self.limits, -1)
        for workload in changed:
            amounts = self.amounts(workload, workload.standing.places)
            self._held[workload.attempt] = workload, amounts
            self._sums.count(workload, amounts, self.limits, 1)
        self._holding = snapshot.holding
        return self

    def charge(self, workload: Workload, places: Iterable[Assignment]) -> None:
        """Let the queue hold these places for the rest of the round."""
        amounts = self.amounts(workload, places)
        self._charged.append((workload, amounts))
        self._sums.count(workload, amounts, self.limits, 1)

    def discharge(self, workload: Workload, places: Iterable[Assignment]) -> None:
        """Take a charge of these places back for the rest of the round."""
        amounts = {resource: -amount for resource, amount in self.amounts(workload, places).items()}
        self._charged.append((workload, amounts))
        self._sums.count(workload, amounts, self.limits, 1)

    def amounts(self, workload: Workload, places: Iterable[Assignment]) -> dict[str, int]:
        """Return what these places give to it, by model too where a quota says so."""
        return held_amounts(workload.shape, places, None if self._by_model < 0 else self.machines.model)

    def used(self, queue: QueueName) -> Mapping[str, int]:
        """Return what the queue holds."""
        return self._sums.used.get(queue, _NOTHING)

    def weight(self, queue: QueueName) -> float:
        """Return its weight in what is lent."""
        known = self._declared[0].get(queue)
        return 1.0 if known is None else known.weight

    def borrowed(self, queue: QueueName) -> dict[str, int]:
        """Return what the queue holds above its guarantees."""
        used = self.used(queue)
        over = {r: used.get(r, 0) - limit.guaranteed for r, limit in self.limits.get(queue, {}).items()}
        return {resource: amount for resource, amount in over.items() if amount > 0}

    def is_guaranteed(self, workload: Workload) -> bool:
        """Tell whether it stays within what its queue is guaranteed, and has a guarantee for something it asks for."""
        limited, used = self.limits.get(workload.queue), self.used(workload.queue)
        if not limited:
            return False
        asked = [(limit, used.get(r, 0) + want, want) for r, limit, want in self._wanted(workload, limited)]
        within = all(after <= limit.guaranteed for limit, after, want in asked if want)
        return within and any(want and limit.guaranteed for limit, _, want in asked)

    def lack(self, workload: Workload, without: Iterable[Workload] = ()) -> Lack | None:
        """Return what keeps it from starting with all that it needs at least; None when quota does not.

        ``without``: holders that are judged as if they were gone.
        """
        limited = self.limits.get(workload.queue)
        if not limited:
            return None
        wanted = [(r, limit, want) for r, limit, want in self._wanted(workload, limited) if want]
        for resource, limit, want in wanted:
            most = _most(workload, limit)
            if want > most:
                return Lack(ReasonCode.NEVER_WITHIN_QUOTA, resource, want, most)
        less = self._sums_of(without)
        for resource, limit, want in wanted:
            code, free = self._free(workload, resource, limit, less)
            if want > free:
                return Lack(code, resource, want, max(free, 0))
        return self._lack_of_models(workload, limited, less) if self._by_model >= 0 else None

    def excess(self, workload: Workload, places: Iterable[Assignment]) -> Reason | None:
        """Return why quota does not allow it these very places, whose devices are of some model; None when it does."""
        limited = self.limits.get(workload.queue)
        if not limited:
            return None
        for resource, amount in sorted(self.amounts(workload, places).items()):
            if amount and resource in limited:
                code, free = self._free(workload, resource, limited[resource], _NOBODY)
                if amount > free:
                    return self._reason(workload, Lack(code, resource, amount, max(free, 0)))
        return None

    def would_fit(self, workload: Workload, without: Iterable[Workload] = ()) -> bool:
        """Tell whether quota lets it start once these holders are gone."""
        return self.lack(workload, without) is None

    def free(self, workload: Workload, resource: str) -> int:
        """Return how much of a resource that its queue has a quota for the workload may still be given."""
        return self._free(workload, resource, self.limits[workload.queue][resource], _NOBODY)[1]

    def refusal(self, workload: Workload) -> Reason | None:
        """Return the reason why quota keeps it from starting now; None when it does not."""
        lack = self.lack(workload)
        return None if lack is None else self._reason(workload, lack)

    def borrowers(self, workload: Workload) -> tuple[QueueName, ...]:
        """Return the queues of its cohort that hold above their guarantee what it lacks, those that hold most first.

        Empty when it is not within its own guarantee: then it takes nothing back.
        """
        lack = self.lack(workload)
        if lack is None or lack.code is not ReasonCode.WAITING_FOR_QUOTA or not self.is_guaranteed(workload):
            return ()
        cohort = self.limits[workload.queue][lack.resource].cohort
        over = [(self.borrowed(name).get(lack.resource, 0), name) for name in self._sharers(cohort, lack.resource)]
        return tuple(name for amount, name in sorted(over, key=lambda pair: (-pair[0], pair[1])) if amount > 0)

    def _free(self, workload: Workload, resource: str, limit: Limit, less: _Sums) -> tuple[ReasonCode, int]:
        """Return how much of a resource the queue may still take for it, and which limit says so."""
        queue = workload.queue
        waiting, ceiling = ReasonCode.WAITING_FOR_QUOTA, ReasonCode.ABOVE_CEILING
        used = _of(self._sums.used, queue, resource) - _of(less.used, queue, resource)
        found = (waiting, limit.capacity - self._held_by(limit.cohort, resource, less))
        if workload.contract.preemption is Preemption.NEVER:
            fixed = self._sums.fixed.get(queue, _NOTHING).get(resource, 0) - less.fixed.get(queue, _NOTHING).get(
                resource, 0
            )
            found = min(found, (waiting, limit.guaranteed - fixed), key=lambda pair: pair[1])
        if limit.ceiling is not None and limit.ceiling - used <= found[1]:
            return ceiling, limit.ceiling - used
        return found

    def _lack_of_models(self, workload: Workload, limited: Mapping[str, Limit], less: _Sums) -> Lack | None:
        """Return what it lacks of the model of which it lacks least, where each model that it can use has a quota."""
        for pod_set in workload.shape.pod_sets:
            names = [f"gpu:{model}" for model in pod_set.models or self.machines.models]
            want = pod_set.asked.gpu_milli * pod_set.least
            if not want or len(pod_set.models) == 1 or not names or not all(name in limited for name in names):
                continue
            most, name = max((_most(workload, limited[name]), name) for name in names)
            if want > most:
                return Lack(ReasonCode.NEVER_WITHIN_QUOTA, name, want, most)
            names = [name for name in names if _most(workload, limited[name]) >= want]
            found = [(*self._free(workload, name, limited[name], less), name) for name in names]
            code, free, name = max(found, key=lambda lack: (lack[1], lack[2]))
            if want > free:
                return Lack(code, name, want, max(free, 0))
        return None

    def _held_by(self, cohort: str, resource: str, less: _Sums) -> int:
        return self._sums.cohort.get(cohort, _NOTHING).get(resource, 0) - less.cohort.get(cohort, _NOTHING).get(
            resource, 0
        )

    def _wanted(self, workload: Workload, limited: Mapping[str, Limit]) -> Iterable[tuple[str, Limit, int]]:
        asked = least_amounts(workload.shape)
        return ((resource, limit, asked.get(resource, 0)) for resource, limit in limited.items())

    def _sums_of(self, workloads: Iterable[Workload]) -> _Sums:
        if not workloads:
            return _NOBODY
        sums = _Sums({}, {}, {})
        for workload in workloads:
            sums.count(workload, self.amounts(workload, workload.standing.places), self.limits, 1)
        return sums

    def _sharers(self, cohort: str, resource: str) -> list[QueueName]:
        """Return the queues of a cohort that have a quota for the resource."""
        if not self._sharing:
            for name, limited in self.limits.items():
                for known, limit in limited.items():
                    self._sharing.setdefault((limit.cohort, known), []).append(name)
        return self._sharing.get((cohort, resource), [])

    def _reason(self, workload: Workload, lack: Lack) -> Reason:
        limit = self.limits[workload.queue][lack.resource]
        never = lack.code is ReasonCode.NEVER_WITHIN_QUOTA
        asked, free = show_amount(lack.resource, lack.asked), show_amount(lack.resource, lack.free)
        evidence = {
            "queue": workload.queue,
            "shortfall": f"{lack.resource}: asked {asked}, {'at most' if never else 'free'} {free}",
        }
        if lack.code is ReasonCode.ABOVE_CEILING:
            evidence["ceiling"] = f"{lack.resource} {show_amount(lack.resource, limit.ceiling or 0)}"
        if lack.code is ReasonCode.WAITING_FOR_QUOTA:
            evidence["users"] = self._users(limit.cohort, lack.resource)
        return Reason(lack.code, dict(evidence))

    def _users(self, cohort: str, resource: str) -> str:
        """Return who uses what is waited for; the same text as long as nothing is charged."""
        key = cohort, resource
        known = self._users_of.get(key)
        if known is None or known[0] != len(self._charged):
            held = [(self.used(name).get(resource, 0), name) for name in self._sharers(cohort, resource)]
            held = sorted((pair for pair in held if pair[0]), key=lambda pair: (-pair[0], pair[1]))
            named = [f"{name} {show_amount(resource, amount)}" for amount, name in islice(held, NAMED)]
            others = [f"{len(held) - NAMED} more"] if len(held) > NAMED else []
            self._users_of[key] = known = len(self._charged), ", ".join(named + others) or "nobody"
        return known[1]

    def _is_declared(self, snapshot: ClusterSnapshot) -> bool:
        queues, cohorts = self._declared
        return (queues is snapshot.queues and cohorts is snapshot.cohorts) or (
            queues == snapshot.queues and cohorts == snapshot.cohorts
        )

    def _begin_again(self, snapshot: ClusterSnapshot) -> None:
        self._declared = snapshot.queues, snapshot.cohorts
        self.limits = limits_of(snapshot.queues, snapshot.cohorts)
        by_model = any(resource.startswith("gpu:") for limited in self.limits.values() for resource in limited)
        self._by_model = self.machines.version if by_model else -1
        self._sharing, self.holders = {}, Holders()
        self._holding, self._held, self._sums = Records(), {}, _Sums({}, {}, {})
