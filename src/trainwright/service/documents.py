"""Pipeline files: found, read as text, checked, with the files that they use."""

import codecs
import posixpath
from dataclasses import replace
from pathlib import Path

from trainwright.core.errors import NotFoundError, SpecError
from trainwright.core.quantity import show_bytes
from trainwright.service.checked import load
from trainwright.service.nearest import did_you_mean
from trainwright.spec.document import Document

LARGEST_BYTES = 2**20
"""Of a pipeline file; whatever is larger was not meant to be one."""


def read_document(path: Path, name: str, kept: Path | None = None) -> Document:
    """Read and check a pipeline file, and the files that its steps use.

    Args:
        path: of the file.
        name: as the person typed it.
        kept: folder that remembers checked files; None = check them in any case.

    Raises:
        NotFoundError: there is no such file.
        SpecError: it, or a file that it uses, is not a pipeline, or files use one another in a circle.
    """
    return _with_subs(load(_text(path, name), name, kept), path, (), kept)


def _with_subs(document: Document, path: Path, above: tuple[Path, ...], kept: Path | None) -> Document:
    """Return a document with the files that its steps use, theirs too."""
    above = (*above, path.resolve())
    subs: dict[str, Document] = {}
    for step, spec in sorted(document.spec.steps.items()):
        if not spec.uses or spec.uses in subs:
            continue
        where = document.where(f"steps.{step}.uses")
        target = path.parent / spec.uses
        if target.resolve() in above:
            names = " → ".join([*(p.name for p in above[above.index(target.resolve()) :]), target.name])
            raise SpecError(
                "TW1072",
                f"pipeline files use one another in a circle: {names}",
                where=where,
                remedy="take one uses: away, or repeat with loop:",
            )
        name = posixpath.normpath(posixpath.join(posixpath.dirname(document.file), spec.uses))
        try:
            text = _text(target, name)
        except NotFoundError as error:
            problem = error.problem
            raise SpecError(problem.code, problem.message, where=where, remedy=problem.remedy) from error
        subs[spec.uses] = _with_subs(load(text, name, kept), target, above, kept)
    return replace(document, subs=subs) if subs else document


def _text(path: Path, name: str) -> str:
    """Return the text of a pipeline file."""
    if not path.exists():
        there = sorted(p.name for p in path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        otherwise = f"that folder has {', '.join(there[:3])}" if there else "write one with: tw init"
        raise NotFoundError("TW4004", f"there is no file {name}", remedy=did_you_mean(path.name, there, otherwise))
    if path.is_dir():
        raise SpecError(
            "TW2106", f"{name} is a folder", remedy=f"name the file in it: {name.rstrip('/')}/pipeline.yaml"
        )
    try:
        size = path.stat().st_size
        if not path.is_file() or size > LARGEST_BYTES:
            fault = f"is too large ({show_bytes(size)})" if path.is_file() else "is no ordinary file"
            why = f"a pipeline is a text file of at most {show_bytes(LARGEST_BYTES)}"
            raise SpecError("TW2108", f"{name} {fault}", why=why, remedy="name the pipeline file")
        data = path.read_bytes()
        if b"\0" in data[:1024] and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise SpecError("TW2107", f"{name} is a binary file, not text", remedy="name the pipeline file")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(
            "TW2107", f"{name} is not UTF-8 text (byte {error.start})", remedy="save it as UTF-8"
        ) from error
    except OSError as error:
        raise SpecError("TW2108", f"{name} cannot be read: {error.strerror}", remedy="mend its permissions") from error
    return text
