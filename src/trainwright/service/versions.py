"""Dataset versions by the names that people give them, and how they go: tag, untag, remove, keep."""

from collections.abc import Collection, Iterable, Sequence

from trainwright.core.artifact import DatasetVersion, PinnedData
from trainwright.core.dataset import tag_obstacle
from trainwright.core.errors import ConflictError, DeniedError, NotFoundError, SpecError
from trainwright.core.ids import RunId
from trainwright.service.context import Context
from trainwright.service.datasets import resolve
from trainwright.service.nearest import did_you_mean
from trainwright.store import datasets, journal
from trainwright.store import versions as store
from trainwright.store.database import Rows

MOST_SHOWN = 5
"""Of what refers to a version, in one sentence."""


def tag(context: Context, address: str, name: str, *, force: bool = False) -> tuple[DatasetVersion, int]:
    """Put a tag on a version; return it and the version that had the tag before, 0 = none.

    Raises:
        SpecError: the tag would look like something else, or the address has a slice.
        NotFoundError: there is no such version.
        ConflictError: another version has the tag, and ``force`` was not given.
    """
    obstacle = tag_obstacle(name)
    if obstacle:
        raise SpecError(
            "TW2122", f"{name!r} cannot be a tag", why=obstacle, remedy="choose a word such as gold or reviewed-2026-05"
        )
    version = _whole(context, address)
    with context.database.writing() as rows:
        if datasets.at(rows, context.project, version.address) is None:
            raise _gone(version.address)
        before = store.tagged(rows, context.project, version.name, name)
        if before == version.version:
            return version, before
        if before and not force:
            raise ConflictError(
                "TW5601",
                f"{name} is the tag of datasets/{version.name}@{before}",
                why="a tag that moves unnoticed changes what pipelines read",
                remedy=f"move it: tw dataset tag {version.address} {name} --force",
            )
        now = context.clock.now()
        store.set_tag(rows, context.project, version, name, at=now, by=context.actor)
        journal.add_audit(
            rows, context.project, now, context.actor, "dataset.tagged", version.address,
            details={"tag": name, "before": before or None},
        )  # fmt: skip
    return version, before


def tags_of(context: Context) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the tags of all datasets: name and version → tags, sorted."""
    with context.database.reading() as rows:
        return store.tags(rows, context.project)


def untag(context: Context, address: str) -> DatasetVersion:
    """Take a tag away from ``datasets/name@tag``; return the version that had it.

    Raises:
        NotFoundError: no version has that tag.
    """
    name, _, tag_ = address.removeprefix("datasets/").partition("@")
    with context.database.writing() as rows:
        number = store.tagged(rows, context.project, name, tag_)
        version = datasets.at(rows, context.project, f"datasets/{name}@{number}") if number else None
        if version is None:
            known = [t for some in store.tags(rows, context.project, name).values() for t in some]
            otherwise = f"its tags: {', '.join(known)}" if known else "see: tw dataset ls"
            raise NotFoundError(
                "TW4205", f"no version of {name} has the tag {tag_}", remedy=did_you_mean(tag_, known, otherwise)
            )
        now = context.clock.now()
        store.drop_tag(rows, context.project, name, tag_)
        journal.add_audit(
            rows, context.project, now, context.actor, "dataset.untagged", version.address, details={"tag": tag_}
        )
    return version


def remove(context: Context, address: str, *, dry_run: bool = False) -> DatasetVersion:
    """Remove a version; the record that there was one stays, its content goes with ``tw gc`` when nothing names it.

    Raises:
        DeniedError: a tag, model, run or cache entry refers to it.
        NotFoundError: there is no such version.
        SpecError: the address has a slice.
    """
    version = _whole(context, address)
    with context.database.writing() as rows:
        referents = store.referents(rows, context.project, version)
        if referents:
            raise _referred(version, referents)
        if not dry_run and not _remove(context, rows, version, "asked"):
            raise _gone(version.address)
    return version


def keep(context: Context, name: str, last: int) -> None:
    """Say how many versions of a dataset ``tw gc`` leaves; 0 = all of them.

    Raises:
        NotFoundError: no dataset has that name.
    """
    resolve(context, f"datasets/{name}")
    with context.database.writing() as rows:
        now = context.clock.now()
        store.set_rule(rows, context.project, name, last, at=now, by=context.actor)
        journal.add_audit(
            rows, context.project, now, context.actor, "dataset.keep", f"datasets/{name}", details={"last": last}
        )


def thin_out(context: Context, without: Collection[RunId], *, dry_run: bool) -> tuple[DatasetVersion, ...]:
    """Remove what the rules of datasets do not keep and nothing refers to; return it, by name and number.

    Args:
        context: of the project; others' datasets stay.
        without: runs that do not count, since they are about to go.
        dry_run: only say what would go.
    """
    with context.database.reading() as rows:
        going = _unneeded(context, rows, without)
    if dry_run or not going:
        return going
    with context.database.writing() as rows:  # looks again: somebody may have begun to use one
        going = _unneeded(context, rows, without)
        return tuple(version for version in going if _remove(context, rows, version, "not kept by the rule"))


def _unneeded(context: Context, rows: Rows, without: Collection[RunId]) -> tuple[DatasetVersion, ...]:
    """Return the versions beyond what the rules keep that nothing refers to, oldest first."""
    rules = store.rules(rows, context.project)
    if not rules:
        return ()
    needed = store.referred(rows, context.project, without)
    old = (v for name, last in rules.items() for v in datasets.versions(rows, context.project, name)[last:][::-1])
    return tuple(version for version in old if version.address not in needed)


def refuse_removed(rows: Rows, context: Context, data: Iterable[PinnedData]) -> None:
    """Let a run begin whose dataset versions are all there; to be called in the transaction that writes it.

    Raises:
        NotFoundError: one was removed since it was looked up.
    """
    for pinned in data:
        address = pinned.address.partition("#")[0]
        if address.startswith("datasets/") and datasets.at(rows, context.project, address) is None:
            raise _gone(address)


def _whole(context: Context, address: str) -> DatasetVersion:
    if "#" in address:
        raise SpecError(
            "TW2121", f"{address} is a slice, and this is about versions", remedy=f"write {address.partition('#')[0]}"
        )
    return resolve(context, address if address.startswith("datasets/") else f"datasets/{address}")


def _remove(context: Context, rows: Rows, version: DatasetVersion, why: str) -> bool:
    now = context.clock.now()
    if not store.remove(rows, context.project, version, at=now, by=context.actor):
        return False
    content = version.content
    journal.add_audit(
        rows, context.project, now, context.actor, "dataset.removed", version.address,
        details={
            "why": why, "digest": content.digest, "files": content.files, "size_bytes": content.size_bytes,
            "source": version.source, "added_by": version.added_by,
        },
    )  # fmt: skip
    return True


def _referred(version: DatasetVersion, referents: Sequence[str]) -> DeniedError:
    more = f" and {len(referents) - MOST_SHOWN} more" if len(referents) > MOST_SHOWN else ""
    shown = ", ".join(referents[:MOST_SHOWN])
    return DeniedError(
        "TW3501",
        f"{version.address} cannot be removed: {len(referents)} thing(s) refer to it",
        why=f"{shown}{more}",
        remedy="take tags away with tw dataset untag; runs without a model go with tw gc --keep-runs AGE",
        details={"count": len(referents), **{f"referent_{i}": r for i, r in enumerate(referents[:MOST_SHOWN], 1)}},
    )


def _gone(address: str) -> NotFoundError:
    return NotFoundError("TW4204", f"{address} was removed at this moment", remedy="see what there is: tw dataset ls")
