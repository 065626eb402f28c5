"""Pipeline files: found, read as text, checked, with the files that they use."""

import codecs
import json
import posixpath
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainwright.core.errors import NotFoundError, SpecError
from trainwright.core.quantity import show_bytes
from trainwright.core.scalar import Plain
from trainwright.service.checked import load
from trainwright.service.nearest import did_you_mean
from trainwright.spec.document import Document

LARGEST_BYTES = 2**20
"""Of a pipeline file; whatever is larger was not meant to be one."""


def read_document(path: Path, name: str, kept: Path | None = None) -> Document:
    """Read and check a pipeline file, and the files that its steps use.

    A Python file, ``digits.py`` or ``digits.py:name``, is traced by a child: this process never imports it.

    Args:
        path: of the file.
        name: as the person typed it.
        kept: folder that remembers checked files; None = check them in any case.

    Raises:
        NotFoundError: there is no such file.
        SpecError: it, or a file that it uses, is not a pipeline, or files use one another in a circle.
    """
    if _is_python(path):
        return drawn_document(_traced(path, name), path, kept)
    return _with_warnings(_with_subs(_read(path, name, kept), path, (), kept))


def read_plain(path: Path, name: str) -> tuple[Document, Plain]:
    """Read and check a pipeline file; return with it the plain values that it holds or draws.

    Raises:
        NotFoundError, SpecError: see ``read_document``.
    """
    if _is_python(path):
        traced = _traced(path, name)
        return drawn_document(traced, path), traced["document"]
    from trainwright.spec.reader import read  # noqa: PLC0415 - YAML is read again, for a command that is rarely typed

    return read_document(path, name), read(_text(path, name), name).value


def _is_python(path: Path) -> bool:
    return path.suffix == ".py" or ".py:" in path.name


def drawn_document(traced: Mapping[str, Any], path: Path, kept: Path | None = None) -> Document:
    """Check what a Python file has drawn, and read the files that its steps use.

    Args:
        traced: as ``spec.traced.document_of`` takes it.
        path: of the Python file.
        kept: as for ``read_document``.

    Raises:
        NotFoundError, SpecError: see ``read_document``.
    """
    from trainwright.spec.traced import document_of  # noqa: PLC0415 - YAML that is known needs none of the checking

    return _with_warnings(_with_subs(document_of(traced), path, (), kept))


def _traced(path: Path, name: str) -> dict[str, Any]:
    """Let a child run the author's file, ``FILE`` or ``FILE:NAME``; return what it draws.

    It imports from the folder of the file and not from ours, as a job does.
    """
    _refuse_absent(path.with_name(path.name.partition(":")[0]), name, "*.py")
    command = [sys.executable, "-P", "-m", "trainwright.dsl.trace", str(path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        message = f"{name} cannot be loaded: Python ended with exit code {done.returncode}"
        raise SpecError("TW1102", message, where=name, remedy=f"mend it until python {name} works") from error
    return found


def _with_warnings(document: Document) -> Document:
    """Return a document that warns of what is doubtful in the files that it uses too."""
    return replace(document, warnings=tuple(dict.fromkeys(_warnings(document))))


def _warnings(document: Document) -> Iterator[str]:
    yield from document.warnings
    for sub in document.subs.values():
        yield from _warnings(sub)


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
            sub = _read(target, name, kept)
        except NotFoundError as error:
            problem = error.problem
            raise SpecError(problem.code, problem.message, where=where, remedy=problem.remedy) from error
        subs[spec.uses] = _with_subs(sub, target, above, kept)
    return replace(document, subs=subs) if subs else document


def _read(path: Path, name: str, kept: Path | None) -> Document:
    """Return the document of one file, whose functions have been looked for."""
    document = load(_text(path, name), name, kept)
    if any(step.call for step in document.spec.steps.values()):
        from trainwright.service.targets import check_targets  # noqa: PLC0415 - what parses Python is for calls only

        check_targets(document, path.parent)
    return document


def _text(path: Path, name: str) -> str:
    """Return the text of a pipeline file."""
    _refuse_absent(path, name, "*.y*ml")
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


def _refuse_absent(path: Path, name: str, alike: str) -> None:
    if path.exists():
        return
    there = sorted(p.name for p in path.parent.glob(alike)) if path.parent.is_dir() else []
    otherwise = f"that folder has {', '.join(there[:3])}" if there else "write one with: tw init"
    raise NotFoundError("TW4004", f"there is no file {name}", remedy=did_you_mean(path.name, there, otherwise))
