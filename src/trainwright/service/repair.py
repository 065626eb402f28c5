"""What a broken disk or a power cut left behind: found, said to whom it matters, and mended where that is safe."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import trainwright
from trainwright.core.errors import BackendError
from trainwright.core.ids import Digest, RunId
from trainwright.core.quantity import show_bytes
from trainwright.ports.content import Flaw
from trainwright.runtime import bundle, disk, leavings
from trainwright.service.context import Context
from trainwright.service.finding import Finding
from trainwright.service.housekeeping import SCRATCH_AGE, run_folder
from trainwright.store import retention

_SHOWN = 8
"""Addresses that one finding names."""

_REPAIR = "tw doctor --repair"


@dataclass(frozen=True, slots=True)
class _Task:
    """What is asked for."""

    context: Context
    deep: bool
    repair: bool


def look_over(context: Context, *, deep: bool, repair: bool) -> list[Finding]:
    """Return a finding on stored content, working copies, leftovers, records of attempts and the runtime.

    Args:
        context: of any project: all that share the state folder are looked over.
        deep: read and hash every stored byte.
        repair: mend what can be mended; the findings say what was found and what was done.

    Raises:
        BackendError: something cannot be read, or mended.
    """
    task = _Task(context, deep, repair)
    return [*_content(task), *_attempts(task)]


def _content(task: _Task) -> Iterator[Finding]:
    context = task.context
    flaws = context.content.inspect(context.clock.now(), deep=task.deep)
    with context.database.reading() as rows:
        needed_by = retention.needed_by(rows)
        in_use = retention.needed_now(rows)
    if task.repair:
        context.content.mend(flaws, in_use)
    damaged = [flaw for flaw in flaws if flaw.kind in {"blob", "missing", "manifest"}]
    yield _damage(task, damaged, needed_by)
    elsewhere = [flaw for flaw in flaws if flaw.kind == "reference"]
    if elsewhere:
        yield _changed_elsewhere(elsewhere, needed_by)
    trees = [flaw for flaw in flaws if flaw.kind == "tree"]
    if trees:
        busy = sum(flaw.digests[0] in in_use for flaw in trees)
        words = f"{len(trees)} do not match their stamp" + (f", {busy} in use" if busy else "")
        yield _mended(task, "copies", words, "removed all that are not in use; they are made anew when needed")
    drafts = [flaw.path for flaw in flaws if flaw.kind == "draft"]
    if drafts:
        yield _mended(task, "leftovers", f"{len(drafts)} of writers that were killed", "removed")


def _damage(task: _Task, damaged: list[Flaw], needed_by: Mapping[Digest, list[str]]) -> Finding:
    """Say which bytes are not what they should be, and what has to be made again because of that."""
    how = "hash" if task.deep else "size"
    if not damaged:
        return Finding("content", ok=True, words=f"every blob has its {how}" + ("" if task.deep else "; --deep hashes"))
    counted = {kind: sum(flaw.kind == kind for flaw in damaged) for kind in ("blob", "missing", "manifest")}
    words = f"{counted['blob']} blobs damaged, {counted['missing']} missing, {counted['manifest']} manifests damaged"
    if task.repair and counted["missing"] < len(damaged):
        words += "; the damaged ones are in content/quarantine now"
    digests = {digest for flaw in damaged for digest in flaw.digests}
    addresses = sorted({address for digest in digests for address in needed_by.get(digest, ())})
    if not addresses:
        return Finding("content", ok=False, words=f"{words}; nothing needs them", remedy="tw gc", needed=False)
    shown = ", ".join(addresses[:_SHOWN]) + (f" and {len(addresses) - _SHOWN} more" if addresses[_SHOWN:] else "")
    first = "" if task.repair or counted["missing"] == len(damaged) else f"{_REPAIR}, then "
    remedy = f"{first}store them again: tw dataset add NAME PATH for datasets, tw run FILE for the rest"
    return Finding("content", ok=False, words=f"{words}; needed by {shown}", remedy=remedy, addresses=tuple(addresses))


def _changed_elsewhere(flaws: list[Flaw], needed_by: Mapping[Digest, list[str]]) -> Finding:
    """Say which data by reference is not what was added; only its owner can mend that."""
    addresses = sorted({address for flaw in flaws for digest in flaw.digests for address in needed_by.get(digest, ())})
    paths = sorted({str(flaw.path) for flaw in flaws})
    shown = ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if paths[_SHOWN:] else "")
    return Finding(
        "references",
        ok=False,
        words=f"data by reference changed or is gone: {shown}"
        + (f"; needed by {', '.join(addresses)}" * bool(addresses)),
        remedy="bring back what was there, or add it again: tw dataset add NAME PATH --reference",
        needed=bool(addresses),
        addresses=tuple(addresses),
    )


def _attempts(task: _Task) -> Iterator[Finding]:
    context = task.context
    root = str(run_folder(context, RunId("any")).parent)
    found = leavings.find(root, (context.clock.now() - SCRATCH_AGE).timestamp())
    drafts = sum(disk.size_of(one.path) for one in found if one.kind == leavings.DRAFT)
    if task.repair:
        _mend(root, found)
    kinds = [one.kind for one in found]
    broken = sorted(one.path.removeprefix(f"{root}/") for one in found if one.kind == leavings.BROKEN)
    if broken:
        shown = ", ".join(broken[:_SHOWN]) + (f" and {len(broken) - _SHOWN} more" if broken[_SHOWN:] else "")
        yield _mended(task, "records", f"unreadable after a power cut: {shown}", "renamed to ….broken")
    else:
        yield Finding("records", ok=True, words="every record of an attempt can be read")
    if leavings.DRAFT in kinds:
        words = f"{kinds.count(leavings.DRAFT)} half-written files of attempts, {show_bytes(drafts)}"
        yield _mended(task, "drafts", words, "removed")
    if leavings.BUNDLE in kinds:
        words = f"{kinds.count(leavings.BUNDLE)} bundles of the runtime are no archives"
        yield _mended(task, "runtime", words, "removed and built anew")


def _mend(root: str, found: list[leavings.Leaving]) -> None:
    try:
        leavings.mend(found)
        if any(one.kind == leavings.BUNDLE for one in found):  # an engine that runs knows only its path
            bundle.build(f"{root}/{leavings.BUNDLES}", trainwright.__version__)
    except OSError as error:
        raise BackendError(
            "TW6103",
            f"what a power cut left cannot be mended: {error.strerror}: {error.filename}",
            remedy="check the disk, its owner and permissions",
        ) from error


def _mended(task: _Task, subject: str, words: str, done: str) -> Finding:
    """Return the finding on something that mending makes good."""
    if task.repair:
        return Finding(subject, ok=True, words=f"{words}: {done}")
    return Finding(subject, ok=False, words=words, remedy=_REPAIR, needed=False)
