"""Slices of dataset versions: cut once, a manifest of their own over the same files."""

from trainwright.core import slices
from trainwright.core.artifact import Content, DatasetVersion
from trainwright.core.errors import NotFoundError, SpecError
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean

_MOST_SHOWN = 8


def split(address: str, where: str = "") -> tuple[str, slices.Slice | None]:
    """Return the address of a dataset version and the slice that it takes; None = the whole.

    Raises:
        SpecError: what stands after ``#`` is no slice.
    """
    try:
        whole, text = slices.split(address)
        return whole, slices.parse(text) if text else None
    except ValueError as error:
        raise SpecError(
            "TW2121",
            f"{address} names no slice: {error}",
            where=where,
            why="a slice is #KEY=VALUE, joined by &, or #path=PATTERN",
            remedy="write it as in datasets/digits@3#split=train",
        ) from error


def cut(context: Context, version: DatasetVersion, wanted: slices.Slice | None, where: str = "") -> tuple[str, Content]:
    """Return address and content of a slice of a version; those of the version itself without a slice.

    Raises:
        NotFoundError: no file of the version is in the slice, or the content is gone.
        BackendError: the store cannot be written.
    """
    if wanted is None:
        return version.address, version.content
    kept = context.content.snapshot(version.content.digest)
    if kept is not None:
        message = f"{version.address} is kept elsewhere, and its files are not known here"
        remedy = "take the part in the step, or add the bytes instead of a reference"
        raise NotFoundError("TW4203", message, where=where, why=f"it is {kept.uri}", remedy=remedy)
    paths = [path for path, _, _ in context.content.entries(version.content.digest)]
    taken = slices.select(wanted, paths)
    if not taken:
        raise _empty(version, wanted, paths, where)
    return f"{version.address}#{wanted}", context.content.put_part(version.content.digest, taken)


def _empty(version: DatasetVersion, wanted: slices.Slice, paths: list[str], where: str) -> NotFoundError:
    known = slices.choices(paths)
    lacking = next(
        (f"{key}={value}" for key, value in wanted.terms if not slices.select(slices.Slice(((key, value),)), paths)), ""
    )
    if lacking.startswith(f"{slices.PATH}="):
        known = tuple(f"{slices.PATH}={path}" for path in paths)
    more = f" and {len(known) - _MOST_SHOWN} more" if len(known) > _MOST_SHOWN else ""
    there = f"there is {', '.join(known[:_MOST_SHOWN])}{more}" if known else "it has no folders to choose from"
    what = f"{version.address} has no file in #{wanted}"
    return NotFoundError(
        "TW4203",
        what if lacking else f"{what}: nothing is in all of it at once",
        where=where,
        why=there,
        remedy=did_you_mean(lacking, known, "choose one of these" if known else "leave # out, or use #path=PATTERN"),
    )
