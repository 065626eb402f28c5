"""Links among the code: a store keeps bytes, so what a link leads to has to be part of the code itself."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainwright.core.errors import SpecError


def follow_links(top: Path, sizes: Mapping[str, int], links: tuple[str, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return ``sizes`` and what the links lead to, under the names it has through them; and links that lead nowhere.

    A link to a file is a file, a link to a folder stands for those of its files that are in ``sizes``; one that leads
    nowhere is dropped.

    Args:
        top: of the code, a real path.
        sizes: relative path → bytes of each file.
        links: relative paths.

    Raises:
        SpecError: TW2202 a link leads out of ``top``, to something not in ``sizes``, or to a folder it is in.
    """
    targets = {link: target for link in links if (target := _target(top, link))}
    followed = dict(sizes)
    for link, target in targets.items():
        if target in sizes:
            followed[link] = sizes[target]
            continue
        inside = {f"{link}/{rest}": size for rest, size in _below(link, sizes, targets, ())}
        if not inside:
            raise _refusal(link, target, "which is not part of the code")
        followed |= inside
    return followed, tuple(sorted(set(links) - set(targets)))


def _target(top: Path, link: str) -> str:
    """Return the relative path of what is at the end of a link; ``.`` for the top, empty when nothing is there."""
    target = Path(os.path.realpath(f"{top}/{link}"))
    if not target.is_relative_to(top):
        raise _refusal(link, str(target), f"outside {top}")
    return target.relative_to(top).as_posix() if target.exists() else ""


def _below(
    link: str, sizes: Mapping[str, int], targets: Mapping[str, str], above: tuple[str, ...]
) -> Iterator[tuple[str, int]]:
    """Yield relative name and bytes of what is in the folder behind ``link``; ``above``: the folders we are in."""
    folder = targets[link]
    if folder in above:
        raise _refusal(link, folder, "a folder that it is in")
    base = "" if folder == "." else folder + "/"
    for path, size in sizes.items():
        if path.startswith(base):
            yield path.removeprefix(base), size
    for inner, target in targets.items():
        if inner.startswith(base) and target in sizes:
            yield inner.removeprefix(base), sizes[target]
        elif inner.startswith(base):
            name = inner.removeprefix(base)
            yield from ((f"{name}/{rest}", size) for rest, size in _below(inner, sizes, targets, (*above, folder)))


def _refusal(link: str, target: str, fault: str) -> SpecError:
    return SpecError(
        "TW2202",
        f"the link {link} leads to {target}, {fault}",
        why="a run has to find its code complete, on any machine",
        remedy=f"put the file in its place, declare what it holds under `data:`, or list /{link} in .twignore",
        details={"path": link},
    )
