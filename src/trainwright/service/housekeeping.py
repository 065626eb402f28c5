"""Makes room: runs that nobody refers to, the scratch of attempts that are over, and content that nothing names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from trainwright.core.ids import AttemptId, Digest, RunId, StepName, attempt_id
from trainwright.ports.content import Amount, Swept
from trainwright.runtime import disk, virtualenv
from trainwright.service.context import Context
from trainwright.service.versions import thin_out
from trainwright.store import cache, retention, tables

SCRATCH_AGE = timedelta(hours=1)
"""How long the scratch of a run stays when it has ended, for whoever wants to look at it."""

UNUSED_AGE = timedelta(days=30)
"""How long an environment stays that nobody uses; it can be built anew from its lock."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Collected:
    """What went, or would go.

    Attributes:
        dry_run: whether nothing was touched.
        removed: runs, newest first.
        versions: addresses of dataset versions that rules do not keep, by name and number.
        runs: their folders.
        scratch: attempts that were cleared, and what that freed.
        content: of the content store, which all projects of the state folder share.
        environments: of this user on this machine, unused for long; files that uv's cache shares are not counted.
    """

    dry_run: bool
    removed: tuple[RunId, ...]
    runs: Amount
    scratch: Amount
    content: Swept
    environments: Amount
    versions: tuple[str, ...] = ()

    @property
    def freed_bytes(self) -> int:
        """Return the sum of everything."""
        content = self.content
        parts = (content.manifests, content.blobs, content.trees, content.drafts)
        return sum(part.size_bytes for part in (self.runs, self.scratch, self.environments, *parts))


def collect(
    context: Context, keep_runs_for: timedelta | None, *, dry_run: bool, keep_environments_for: timedelta = UNUSED_AGE
) -> Collected:
    """Remove what is not needed any more; killed at any moment, it goes on when it is called again.

    Runs go only from the project of the context, and only with ``keep_runs_for``; dataset versions only from there, and
    only by rules of ``tw dataset keep``. The rest is nobody's record: scratch
    and content of all projects that share the state folder.

    Args:
        context: of the project.
        keep_runs_for: finished runs older than this go, unless a model version or another run refers to them.
        dry_run: only say what would go.
        keep_environments_for: those not used for longer go, never one that is in use.

    Raises:
        BackendError: the database or the content store cannot be used.
    """
    removed = () if keep_runs_for is None else _remove_runs(context, keep_runs_for, dry_run=dry_run)
    runs = _run_folders(context, removed, dry_run=dry_run)
    scratch = _scratch(context, set(removed), dry_run=dry_run)
    thinned = thin_out(context, removed, dry_run=dry_run)
    if not dry_run:
        with context.database.writing() as rows:
            cache.drop_old_imports(rows, context.clock.now())
            tables.drop_old(rows, context.clock.now())
    with context.database.reading() as rows:
        keep = set(retention.needed_by(rows, removed, [(context.project, v.address) for v in thinned]))
        under_way = retention.attempts_under_way(rows)
    keep.update(digest for attempt in under_way for digest in _published(context, attempt))
    environments = _environments(context, keep_environments_for, dry_run=dry_run)
    swept = context.content.sweep(keep, context.clock.now(), dry_run=dry_run)
    return Collected(dry_run, removed, runs, scratch, swept, environments, tuple(v.address for v in thinned))


def _remove_runs(context: Context, keep_for: timedelta, *, dry_run: bool) -> tuple[RunId, ...]:
    """Remove the rows of old runs, each in a transaction that looks again; return those that went."""
    with context.database.reading() as rows:
        old = retention.removable(rows, context.project, context.clock.now() - keep_for)
    if dry_run:
        return tuple(old)
    removed: list[RunId] = []
    for run in old:
        with context.database.writing() as rows:
            if retention.remove_run(rows, run, context.clock.now(), context.actor):
                removed.append(run)
    return tuple(removed)


def _run_folders(context: Context, removed: tuple[RunId, ...], *, dry_run: bool) -> Amount:
    """Remove the folders of runs that were removed, by us or by one that was killed before it came to that.

    The folder of a run that is merely unknown stays: it may belong to a backup that somebody will restore.
    """
    with context.database.reading() as rows:
        gone = sorted({*removed, *retention.removed_runs(rows)})
    tally = disk.Tally()
    for run in gone:
        folder = run_folder(context, run)
        if folder.is_dir() or run in removed:
            _free(folder, tally, dry_run=dry_run)
    return Amount(tally.count, tally.size_bytes)


def _scratch(context: Context, removed: set[RunId], *, dry_run: bool) -> Amount:
    """Remove what attempts worked with; their logs, events, results and checkpoints stay."""
    with context.database.reading() as rows:
        over = retention.attempts_over(rows, context.clock.now() - SCRATCH_AGE)
    tally = disk.Tally()
    for one in over:
        folder = context.backend.folder(one.attempt)
        names = ("work", "inputs", "outputs") if one.published else ("work", "inputs")
        there = [folder / name for name in names if (folder / name).is_symlink() or (folder / name).exists()]
        if one.run in removed or not there:
            continue
        freed = disk.Tally()
        for path in there:
            _free(path, freed, dry_run=dry_run)
        tally.add(freed.size_bytes)
    return Amount(tally.count, tally.size_bytes)


def _environments(context: Context, keep_for: timedelta, *, dry_run: bool) -> Amount:
    """Remove environments that nobody uses, those first that were not used for the longest time."""
    root = str(context.environments)
    before = (context.clock.now() - keep_for).timestamp()
    tally = disk.Tally()
    for key in sorted(virtualenv.keys(root), key=lambda key: virtualenv.used_at(root, key)):
        if virtualenv.used_at(root, key) >= before or virtualenv.is_leased(root, key):
            continue
        size_bytes = virtualenv.own_bytes(f"{root}/{key}")
        if dry_run or virtualenv.remove(root, key):
            tally.add(size_bytes)
    return Amount(tally.count, tally.size_bytes)


def _free(path: Path, tally: disk.Tally, *, dry_run: bool) -> None:
    """Remove a folder and count what that frees; what cannot be removed is not counted."""
    size_bytes = disk.size_of(str(path))
    if not dry_run and not disk.remove(str(path)):
        size_bytes -= disk.size_of(str(path))
    tally.add(size_bytes)


def _published(context: Context, attempt: AttemptId) -> Iterator[Digest]:
    """Yield what the result of an attempt names, which nobody may have taken over yet."""
    try:
        text = (context.backend.folder(attempt) / "result.json").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from map(Digest, _DIGEST.findall(text))


def run_folder(context: Context, run: RunId) -> Path:
    """Return the folder that holds the steps of a run."""
    return context.backend.folder(attempt_id(run, StepName("any"), 1)).parents[1]
