"""Answers queued attempts with what equal ones made before, or says why they have to run; and remembers what is made.

An attempt asks once, when it is queued and its inputs are known. While an equal one runs, in whatever run of the
project, it waits and then asks again; it never waits for one that merely waits itself, so nobody waits in a circle.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from trainwright.core.artifact import ArtifactKind
from trainwright.core.cache import CacheEntry, CacheMode, Closure
from trainwright.core.changes import Changes, applied
from trainwright.core.decision import Decision, Refusal
from trainwright.core.errors import BackendError, NotFoundError
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.job import CodeTree
from trainwright.core.quantity import show_bytes, show_duration
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, Resumed, RunView
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState
from trainwright.engine.verifier import Verifier
from trainwright.lifecycle.job import build_job
from trainwright.lifecycle.reuse import Missed, Reused, is_worth_remembering
from trainwright.plan import cachekey
from trainwright.plan.plan import Plan, PlannedStep
from trainwright.ports.content import ContentStore
from trainwright.store import cache
from trainwright.store.database import Database, Rows
from trainwright.store.sources import Sources


@dataclass(frozen=True, slots=True)
class Ground:
    """What a run stands on, the same from its beginning to its end.

    Attributes:
        environment: its part of every key.
    """

    plan: Plan
    code: CodeTree
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Question:
    """One attempt with its key and all that it is made of."""

    step: PlannedStep
    attempt: Attempt
    params: Mapping[str, Plain]
    label: str
    key: Digest
    parts: Mapping[str, str]
    closure: Closure

    def missed(self, cause: str, **evidence: Plain) -> Missed:
        told: dict[str, Plain] = {"cause": cause, "key": _short(self.key), "code": self.closure.name, **evidence}
        return Missed(self.attempt.id, self.key, Reason(ReasonCode.CACHE_MISS, told))


class Memory:
    """The step cache of one project, as an engine uses it."""

    def __init__(self, database: Database, content: ContentStore, sources: Sources, project: ProjectName) -> None:
        self._database = database
        self._sources = sources
        self._project = project
        self._content = content
        self._verifier = Verifier(content)
        self._again: set[AttemptId] = set()  # something equal was made since they asked

    def answers(
        self, ground: Ground, view: RunView, queued: Iterable[Attempt], now: datetime
    ) -> list[Reused | Missed | Refusal]:
        """Return what is known of queued attempts that nobody has asked for yet, or that have to ask again.

        Raises:
            BackendError: the database or the content store cannot be used.
        """
        found = (self._answer(ground, view, attempt, now) for attempt in self._asking(queued))
        return [answer for answer in found if answer is not None]

    def hold_back(
        self, live: dict[RunId, list[Attempt]], holding: Iterable[Attempt], now: datetime
    ) -> dict[RunId, list[Decision]]:
        """Take out of ``live`` the queued attempts that are not for the scheduler now; return the word on them, by run.

        Args:
            live: unfinished attempts, the oldest run first.
            holding: what holds room as far as it is committed.
            now: an attempt that may not start yet holds back nobody.
        """
        makers = {a.key: a.id for a in holding if a.key is not None and a.reuse is not None}
        words: dict[RunId, list[Decision]] = {}
        for run_id, attempts in live.items():
            kept: list[Attempt] = []
            for attempt in attempts:
                maker = _maker(attempt, makers, now)
                if maker is not None:
                    reason = Reason(ReasonCode.WAITING_FOR_EQUAL, {"attempt": maker})
                    words.setdefault(run_id, []).append(Refusal(attempt.id, reason))
                elif attempt.state is not AttemptState.QUEUED or not _is_open(attempt):
                    kept.append(attempt)
            live[run_id] = kept
        return words

    def lets_start(self, rows: Rows, attempts: Iterable[Attempt]) -> bool:
        """Hold starts against what is committed by now: nobody makes the same, nor has made it since they asked."""
        good = True
        for attempt in filter(_shares, attempts):
            key = attempt.key or Digest("")
            known = cache.entry(rows, self._project, key)
            rejected = attempt.reuse.evidence.get("rejected") if attempt.reuse else None
            if known is not None and known.attempt != rejected:
                self._again.add(attempt.id)
                good = False
            good &= not [m for m in cache.makers(rows, self._project, key) if m.id != attempt.id and m.reuse]
        return good

    def entries(self, ground: Ground, before: RunView, changes: Changes, now: datetime) -> tuple[CacheEntry, ...]:
        """Return what is to be remembered of the steps that ended."""
        ended = [step for step in changes.steps if step.state.is_final and step.attempts]
        view = applied(before, changes) if ended else before
        found = []
        for step in ended:
            attempt = view.latest(step.name)
            if attempt is None or not is_worth_remembering(step, attempt):
                continue
            question = self._question(ground, view, attempt)
            if question is not None and question.key == attempt.key:
                found.append(
                    CacheEntry(
                        self._project, question.key, question.label, view.run.id, attempt.id, question.parts, now, now
                    )
                )
        return tuple(found)

    def _asking(self, queued: Iterable[Attempt]) -> Iterator[Attempt]:
        over: dict[AttemptId, bool] = {}
        for attempt in queued:
            maker = _awaited(attempt)
            if maker is not None and maker not in over:
                over[maker] = self._is_over(maker)
            if _is_open(attempt) or attempt.id in self._again or (maker is not None and over[maker]):
                self._again.discard(attempt.id)
                yield attempt

    def _is_over(self, attempt: AttemptId) -> bool:
        with self._database.reading() as rows:
            known = cache.made(rows, attempt)
        return known is None or known.attempt.state.is_final

    def _answer(
        self, ground: Ground, view: RunView, attempt: Attempt, now: datetime
    ) -> Reused | Missed | Refusal | None:
        question = self._question(ground, view, attempt)
        if question is None:
            gone = Reason(ReasonCode.CACHE_MISS, {"cause": "its code is not stored any more"})
            return Missed(attempt.id, None, gone)
        taken = self._taken_over(question, view.run.resumes, now)
        if taken is not None:
            return taken
        mode = question.step.cache.under(view.run.cache)
        if mode is CacheMode.OFF or not cachekey.is_reusable(question.step):
            return Missed(attempt.id, question.key, None)
        if mode is CacheMode.REFRESH:
            return question.missed("asked to run again (cache: refresh)", refresh=True)
        if view.step(attempt.step).forgiven:
            return question.missed("asked to run again (tw retry)", refresh=True)
        with self._database.reading() as rows:
            entry = cache.entry(rows, self._project, question.key)
            made = None if entry is None else cache.made(rows, entry.attempt)
            near = [] if entry else cache.entries_of_step(rows, self._project, question.label)
        if entry is None:
            return self._unknown(question, near)
        return self._check(question, entry, made, now)

    def _taken_over(
        self, question: _Question, resumes: Resumed | None, now: datetime
    ) -> Reused | Missed | Refusal | None:
        """Return the answer from the run that this one resumes; None when it has none, and memory is to be asked."""
        if resumes is None:
            return None
        if top_of(question.attempt.step) in resumes.anew:
            return question.missed("asked to run again (resume --from)", refresh=True)
        with self._database.reading() as rows:
            made = cache.made_by_run(rows, resumes.run, question.key)
        if made is None:
            return None
        origin = made.attempt.origin or made.attempt.id
        entry = CacheEntry(self._project, question.key, question.label, resumes.run, origin, question.parts, now, now)
        answer = self._check(question, entry, made, now)
        if not isinstance(answer, Reused):
            return answer
        told = {**answer.reason.evidence, "resumed": resumes.run}
        return replace(answer, reason=Reason(ReasonCode.TAKEN_OVER, told))

    def _question(self, ground: Ground, view: RunView, attempt: Attempt) -> _Question | None:
        """Return an attempt with its key; None when its code is not stored any more."""
        step = ground.plan.step(attempt.step)
        job = build_job(ground.plan, view, attempt, ground.code)
        try:
            (closure,) = self._sources.closures(job.code or ground.code, [job.command])
        except NotFoundError:
            return None
        if job.command.call is not None and any(given.kind is ArtifactKind.PICKLE for given in job.inputs):
            closure = Closure("whole code tree: it is given a pickle", tree=(job.code or ground.code).digest)
        parts = cachekey.parts(job, step, closure, ground.environment, _items(view, attempt.step))
        label = f"{ground.plan.pipeline}/{ground.plan.path(attempt.step)}"
        return _Question(step, attempt, job.params, label, cachekey.key(parts), parts, closure)

    def _unknown(self, question: _Question, entries: list[CacheEntry]) -> Missed:
        """Return the miss of a key that nothing is remembered under: in what it differs from the nearest."""
        near = cachekey.nearest(question.parts, entries)
        if near is None:
            return question.missed("this step has made nothing before")
        mine, other = question.parts.get("code"), near.parts.get("code")
        whole = mine and other and mine != other
        files = self._sources.changed_files(Digest(mine or ""), Digest(other or "")) if whole else ()
        packages = self._changed_packages(question.parts.get("environment"), near.parts.get("environment"))
        cause = "; ".join(cachekey.differences(question.parts, near.parts, files, packages))
        return question.missed(f"{cause} (compared with runs/{near.attempt})", compared=near.attempt)

    def _changed_packages(self, mine: str | None, other: str | None) -> list[str]:
        """Return how one stored lock differs from another; nothing when one of them is not stored any more."""
        if not mine or not other or mine == other:
            return []
        from trainwright.core.lock import differing  # noqa: PLC0415 - for a changed environment only

        try:
            here, there = (self._content.read(Digest(digest), "lock").decode() for digest in (mine, other))
        except (BackendError, NotFoundError):
            return []
        return differing(here, there)

    def _check(
        self, question: _Question, entry: CacheEntry, made: cache.Made | None, now: datetime
    ) -> Reused | Missed | Refusal | None:
        """Hold what is remembered against what is stored."""
        ttl_s = question.step.cache.ttl_s
        if ttl_s is not None and now - entry.created_at > timedelta(seconds=ttl_s):
            cause = f"what runs/{entry.attempt} made is older than its ttl of {show_duration(ttl_s)}"
            return question.missed(cause, rejected=entry.attempt)
        missing = made is None or set(question.step.outputs) - set(made.outputs)
        if made is None or missing:
            return question.missed("output missing or altered", rejected=entry.attempt)
        sound = self._verifier.verify(made.outputs.values())
        if sound is None:
            return _verifying(question.attempt, entry, made)
        if not sound:
            cause = f"output missing or altered (of runs/{entry.attempt})"
            return question.missed(cause, rejected=entry.attempt)
        other = [n for n, v in made.attempt.params.items() if n in question.params and question.params[n] != v]
        if other:
            cause = f"runs/{entry.attempt} noted another {', '.join(sorted(other))} than this run has"
            return question.missed(cause, rejected=entry.attempt)
        told: dict[str, Plain] = {
            "origin": entry.attempt, "key": _short(question.key), "code": question.closure.name,
        }  # fmt: skip
        reason = Reason(ReasonCode.CACHE_HIT, told)
        return Reused(
            question.attempt.id, question.key, reason, made.outputs, made.attempt.metrics, made.attempt.params
        )


def top_of(step: StepName) -> StepName:
    """Return the top step that a step is, or lies in."""
    return StepName(step.partition(".")[0])


def _items(view: RunView, name: StepName) -> list[Plain]:
    """Return what a step stands for as a member, and the groups around it, from the inside out."""
    found: list[Plain] = []
    at: StepName | None = name
    while at is not None:
        step = view.step(at)
        if step.item is not None:
            found.append(step.item)
        at = step.parent
    return found


def _verifying(attempt: Attempt, entry: CacheEntry, made: cache.Made) -> Refusal | None:
    """Return the word that an attempt waits for a verification; None when it was said."""
    if attempt.reason is not None and attempt.reason.code is ReasonCode.VERIFYING:
        return None
    size = show_bytes(sum(content.size_bytes for content in made.outputs.values()))
    return Refusal(attempt.id, Reason(ReasonCode.VERIFYING, {"origin": entry.attempt, "size": size}))


def _maker(attempt: Attempt, makers: dict[Digest, AttemptId], now: datetime) -> AttemptId | None:
    """Return the other attempt that makes what a queued one would; the first that asks is noted in ``makers``."""
    due = attempt.not_before is None or attempt.not_before <= now
    if attempt.state is not AttemptState.QUEUED or attempt.key is None or not due or not _shares(attempt):
        return None
    maker = makers.setdefault(attempt.key, attempt.id)
    return maker if maker != attempt.id else None


def _awaited(attempt: Attempt) -> AttemptId | None:
    """Return the attempt that one waits for because it makes the same."""
    reason = attempt.reason
    waits = reason is not None and reason.code is ReasonCode.WAITING_FOR_EQUAL
    return AttemptId(str(reason.evidence["attempt"])) if waits and reason else None


def _is_open(attempt: Attempt) -> bool:
    """Tell whether nobody has answered an attempt yet."""
    return attempt.key is None and attempt.reuse is None


def _shares(attempt: Attempt) -> bool:
    """Tell whether an attempt takes what another makes; one that was asked to run again does not."""
    reuse = attempt.reuse
    return attempt.key is not None and reuse is not None and not reuse.evidence.get("refresh")


def _short(key: Digest) -> str:
    return key.removeprefix("sha256:")[:12]
