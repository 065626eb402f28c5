"""Every reason for a "no" or a "not yet", its sentence and its remedy: the only catalogue.

A reason is stored as code and evidence; the sentence is made when somebody reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from trainwright.core.scalar import Plain


class ReasonCode(StrEnum):
    """Persisted for ever: never renamed."""

    WAITING_FOR_STEP = "waiting-for-step"
    WAITING_FOR_CAPACITY = "waiting-for-capacity"
    BACKING_OFF = "backing-off"
    NEVER_FITS = "never-fits"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    USER_ERROR = "user-error"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out-of-memory"
    KILLED = "killed"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed-out"
    LOST = "lost"
    NOT_STARTED = "not-started"
    ENVIRONMENT_FAILED = "environment-failed"
    OUTPUT_MISSING = "output-missing"
    OUTPUT_INVALID = "output-invalid"
    NOT_PUBLISHED = "not-published"
    GATE_FAILED = "gate-failed"
    METADATA_MISSING = "metadata-missing"
    NOT_A_NUMBER = "not-a-number"
    NOT_REGISTERED = "not-registered"
    JUDGE_FAILED = "judge-failed"
    ALIAS_REFUSED = "alias-refused"
    UPSTREAM_FAILED = "upstream-failed"
    UPSTREAM_SKIPPED = "upstream-skipped"
    CONDITION_FALSE = "condition-false"
    CONDITION_UNDECIDED = "condition-undecided"
    NOT_NEEDED = "not-needed"
    ONLY_AGAIN = "only-again"
    SKIPPED_ITSELF = "skipped-itself"
    READING_LIST = "reading-list"
    BAD_LIST = "bad-list"
    WAITING_FOR_TURN = "waiting-for-turn"
    MEMBERS_FAILED = "members-failed"
    MEMBERS_SKIPPED = "members-skipped"
    LOOP_EXHAUSTED = "loop-exhausted"
    STEP_FAILED = "step-failed"
    STOPPED = "stopped"
    NOT_TRIGGERED = "not-triggered"
    CHAIN_TOO_LONG = "chain-too-long"
    CACHE_HIT = "cache-hit"
    CACHE_MISS = "cache-miss"
    TAKEN_OVER = "taken-over"
    WAITING_FOR_EQUAL = "waiting-for-equal"
    VERIFYING = "verifying"
    WAITING_FOR_QUOTA = "waiting-for-quota"
    ABOVE_CEILING = "above-ceiling"
    NEVER_WITHIN_QUOTA = "never-within-quota"
    ON_HOLD = "on-hold"
    BEHIND = "behind"
    BEHIND_RESERVATION = "behind-reservation"
    WAITING_FOR_VICTIMS = "waiting-for-victims"
    SCATTERED = "scattered"
    COOLING_DOWN = "cooling-down"
    OUTSIDE_WINDOW = "outside-window"
    OVER_BUDGET = "over-budget"
    TOO_EXPENSIVE = "too-expensive"
    ADDING_NODES = "adding-nodes"
    WAITING_FOR_TIME_SLICE = "waiting-for-time-slice"
    PREEMPTED = "preempted"
    RECLAIMED = "reclaimed"
    TIME_SLICED = "time-sliced"
    RESIZED = "resized"
    NODE_LOST = "node-lost"


@dataclass(frozen=True, slots=True)
class Reason:
    """A code with the numbers that belong to it.

    Attributes:
        evidence: fills the sentence; kept as facts for programs.
    """

    code: ReasonCode
    evidence: Mapping[str, Plain] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """Return the code of the failure behind it: that of a member, where a group failed by its members."""
        return str(self.evidence.get("code") or self.code)

    def sentence(self) -> str:
        """Return what happened or is waited for, in one sentence."""
        return _fill(CATALOGUE[self.code].sentence, self.evidence)

    def remedy(self) -> str:
        """Return what a person can do; empty when there is nothing to do."""
        given = self.evidence.get("remedy")
        return str(given) if given else _fill(CATALOGUE[self.code].remedy, self.evidence)


@dataclass(frozen=True, slots=True)
class Entry:
    """How a reason reads; ``{name}`` is filled from the evidence."""

    sentence: str
    remedy: str = ""


CATALOGUE: Mapping[ReasonCode, Entry] = {
    ReasonCode.WAITING_FOR_STEP: Entry("waits for {steps}"),
    ReasonCode.WAITING_FOR_CAPACITY: Entry(
        "waits for room ({shortfall}); held by {holders}", "it starts when one of them ends; to free room: tw stop RUN"
    ),
    ReasonCode.BACKING_OFF: Entry("attempt {number} follows at {at}, after {cause}"),
    ReasonCode.NEVER_FITS: Entry("asks for more than this machine has ({shortfall})", "lower resources: of the step"),
    ReasonCode.RUNNING: Entry("is running"),
    ReasonCode.SUCCEEDED: Entry("succeeded"),
    ReasonCode.USER_ERROR: Entry("the command ended with exit code {exit_code}", "see the last lines of its log"),
    ReasonCode.CRASHED: Entry("the command crashed with {signal}", "see the last lines of its log"),
    ReasonCode.OUT_OF_MEMORY: Entry(
        "the command took more memory than its {memory} ({message})",
        "raise memory: of the step, or let it grow: retry: {{max: 2, on: [oom], memory: x2}}",
    ),
    ReasonCode.KILLED: Entry(
        "the command was killed with {signal}",
        "the system's memory killer is the usual cause: ask for less or add memory",
    ),
    ReasonCode.INTERRUPTED: Entry("the command was ended from outside with {signal}", "run it again"),
    ReasonCode.TIMED_OUT: Entry("the command took longer than its timeout of {timeout}", "raise timeout: of the step"),
    ReasonCode.LOST: Entry(
        "its runner died without a result", "run it again; a lost attempt is repeated up to three times by itself"
    ),
    ReasonCode.NOT_STARTED: Entry("the command could not be started: {message}", "mend the command or its inputs"),
    ReasonCode.ENVIRONMENT_FAILED: Entry(
        "its environment could not be built: {message}",
        "see all of it: tw logs RUN/STEP; a newer lock: tw env lock FILE --upgrade; a network that fails: retry:",
    ),
    ReasonCode.OUTPUT_MISSING: Entry(
        "ended well but did not write the output {output}",
        "write it to the path that ${{{{ out.NAME }}}} gives (in a script: tw.outputs), or take it out of out:",
    ),
    ReasonCode.OUTPUT_INVALID: Entry(
        "ended well but the output {message}", "write what the kind under out: asks for, or declare another kind"
    ),
    ReasonCode.NOT_PUBLISHED: Entry("its outputs could not be stored: {message}", "free space and run it again"),
    ReasonCode.GATE_FAILED: Entry(
        "the check {expression} failed ({values})", "mend what the check measures, or change check: of the step"
    ),
    ReasonCode.METADATA_MISSING: Entry("the stage {stage} owes {owed} and the step did not give it"),
    ReasonCode.NOT_A_NUMBER: Entry(
        "what it logged last is not a finite number: {values}", "look for divergence: learning rate, bad rows"
    ),
    ReasonCode.NOT_REGISTERED: Entry(
        "{model} was not registered: no check on it has passed", "give a step that reads the model a check:"
    ),
    ReasonCode.JUDGE_FAILED: Entry(
        "{model} was not registered: {steps} did not pass", "see it: tw why RUN/STEP; when: cannot let a model through"
    ),
    ReasonCode.ALIAS_REFUSED: Entry(
        "{model} was not registered: it may not become {alias} ({rules})",
        "register it without alias:, or change the policy: tw config show AliasPolicy/{policy}",
    ),
    ReasonCode.UPSTREAM_FAILED: Entry("was skipped because {steps} did not succeed"),
    ReasonCode.UPSTREAM_SKIPPED: Entry(
        "was skipped because {steps} was skipped", "when: none_failed lets it run all the same"
    ),
    ReasonCode.CONDITION_FALSE: Entry("was skipped because {expression} does not hold ({values})"),
    ReasonCode.CONDITION_UNDECIDED: Entry(
        "whether {expression} holds cannot be told ({values})",
        "log what the condition names in the step before, or ask with has()",
    ),
    ReasonCode.NOT_NEEDED: Entry("was not needed: {steps} did not fail"),
    ReasonCode.ONLY_AGAIN: Entry(
        "was skipped because the run makes runs/{original} again, and that registers nothing new"
    ),
    ReasonCode.SKIPPED_ITSELF: Entry("had nothing to do: the command ended with its skip_code {exit_code}"),
    ReasonCode.READING_LIST: Entry("reads the list of its members from {output}"),
    ReasonCode.BAD_LIST: Entry("{output} cannot be the list of its members: {message}", "{advice}"),
    ReasonCode.WAITING_FOR_TURN: Entry("waits for its turn: at most {limit} steps of the run at one time"),
    ReasonCode.MEMBERS_FAILED: Entry(
        "{failed} of {total} members failed, {tolerate} may; the first was {first}: {cause}",
        "see it: tw why RUN/{first}",
    ),
    ReasonCode.MEMBERS_SKIPPED: Entry("was skipped because all of its {total} members were"),
    ReasonCode.LOOP_EXHAUSTED: Entry(
        "{until} did not hold after {rounds} rounds ({values})", "allow more rounds in loop: max_rounds"
    ),
    ReasonCode.STEP_FAILED: Entry("the step {step} failed: {cause}"),
    ReasonCode.STOPPED: Entry("was stopped by {actor}"),
    ReasonCode.NOT_TRIGGERED: Entry("no run was started: {message}", "mend it; the trigger stays armed"),
    ReasonCode.CHAIN_TOO_LONG: Entry(
        "no run was started: it would be number {depth} in a chain of runs that start one another; {most} are the most",
        "take a run: trigger out of the circle, or pause one: tw trigger pause TRIGGER",
    ),
    ReasonCode.CACHE_HIT: Entry("hit: equal to runs/{origin} (key {key})"),
    ReasonCode.TAKEN_OVER: Entry("taken over from runs/{resumed}: equal to runs/{origin} (key {key})"),
    ReasonCode.CACHE_MISS: Entry("miss: {cause}"),
    ReasonCode.WAITING_FOR_EQUAL: Entry("waits for runs/{attempt}, which makes the same"),
    ReasonCode.VERIFYING: Entry("looks whether what runs/{origin} made is unaltered ({size})"),
    ReasonCode.WAITING_FOR_QUOTA: Entry(
        "waits for quota of the queue {queue} ({shortfall}); used by {users}",
        "it starts when work of {queue} ends or another queue lends again: tw queue explain {queue}",
    ),
    ReasonCode.ABOVE_CEILING: Entry(
        "waits for work of its own queue: {queue} may hold at most {ceiling} ({shortfall})",
        "it starts when one of them ends; the ceiling: tw config show Queue/{queue}",
    ),
    ReasonCode.NEVER_WITHIN_QUOTA: Entry(
        "asks for more than the queue {queue} may ever hold ({shortfall})",
        "ask for less, or raise the quota: tw config show Queue/{queue}",
    ),
    ReasonCode.ON_HOLD: Entry("is held: {by}", "let it go: tw queue release {what}"),
    ReasonCode.BEHIND: Entry("waits behind {ahead}, which comes first: {why}", "change its place: tw queue move"),
    ReasonCode.BEHIND_RESERVATION: Entry(
        "would delay {holder}, which has a reservation from {at}; only what ends before may pass",
        "give it a timeout: that ends it {before}, and it may fill in",
    ),
    ReasonCode.WAITING_FOR_VICTIMS: Entry("its room is held for it; waits for {victims} to leave until {at}"),
    ReasonCode.SCATTERED: Entry(
        "waits for room in one piece: {free} are free, but not together ({shortfall})",
        "it starts when neighbours end; it fits now with {fits}",
    ),
    ReasonCode.COOLING_DOWN: Entry("was told to leave at {since} and does not start again before {at}"),
    ReasonCode.OUTSIDE_WINDOW: Entry(
        "waits for its window {window}, which opens at {at}", "run it outside: scheduling: without window:"
    ),
    ReasonCode.OVER_BUDGET: Entry(
        "the queue {queue} has spent {spent} of its budget of {most}; the next period begins at {at}",
        "raise it: tw config show Queue/{queue}",
    ),
    ReasonCode.TOO_EXPENSIVE: Entry("no pool costs at most {most} an hour; the cheapest that fits costs {price}"),
    ReasonCode.ADDING_NODES: Entry("waits for {count} new nodes of the pool {pool}, expected at {at}"),
    ReasonCode.WAITING_FOR_TIME_SLICE: Entry("shares its queue by time; {ahead} have the room now: {why}"),
    ReasonCode.PREEMPTED: Entry(
        "was told to leave for {beneficiary}, which has a higher priority ({lost} of work lost)"
    ),
    ReasonCode.RECLAIMED: Entry(
        "was told to leave: {queue} takes back what it had lent, for {beneficiary} ({lost} of work lost)"
    ),
    ReasonCode.TIME_SLICED: Entry("gave its room to {beneficiary}, whose turn it is ({lost} of work lost)"),
    ReasonCode.RESIZED: Entry("goes on with {count} instead of {before} replicas: {why}"),
    ReasonCode.NODE_LOST: Entry("its node {node} was lost"),
}


class _Gaps(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "?"


def _fill(template: str, evidence: Mapping[str, Plain]) -> str:
    return template.format_map(_Gaps({k: _show(v) for k, v in evidence.items()}))


def _show(value: Plain) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nobody"
    if isinstance(value, dict):
        return ", ".join(f"{k} = {v:.6g}" if isinstance(v, float) else f"{k} = {v}" for k, v in value.items())
    return str(value)
