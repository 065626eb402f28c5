"""Captured code trees and what their files import; every file is read once and remembered in the database."""

import contextlib
from collections.abc import Iterable

from trainwright.core.cache import Closure, Imports
from trainwright.core.clock import Clock
from trainwright.core.errors import NotFoundError, TransientBackendError
from trainwright.core.ids import Digest
from trainwright.core.job import CodeTree, Command
from trainwright.plan.closure import SourceTree, TreeFile
from trainwright.plan.imports import READING, imports_of
from trainwright.ports.content import ContentStore
from trainwright.store import cache
from trainwright.store.database import Database

_KEPT = 8  # trees in memory


class Sources:
    """Reads captured trees for one process."""

    def __init__(self, database: Database, content: ContentStore, clock: Clock) -> None:
        self._database = database
        self._content = content
        self._clock = clock
        self._trees: dict[CodeTree, SourceTree] = {}
        self._known: dict[str, Imports] = {}
        self._new: dict[str, Imports] = {}
        self._changes: dict[tuple[Digest, Digest], list[str]] = {}

    def closures(self, code: CodeTree, commands: Iterable[Command]) -> list[Closure]:
        """Return the code that counts for each command; the first call for a tree reads what was never read before.

        Raises:
            NotFoundError: the tree is not stored any more.
            BackendError: the content store or the database cannot be used.
        """
        tree = self._tree(code)
        found = [tree.closure(command) for command in commands]
        if self._new:
            with contextlib.suppress(TransientBackendError):  # then it is kept the next time, or read again
                with self._database.writing() as rows:
                    cache.keep_imports(rows, self._new, READING, self._clock.now())
                self._new = {}
        return found

    def changed_files(self, now: Digest, before: Digest) -> list[str]:
        """Return how two captured trees differ, file by file; empty when one of them is not stored any more."""
        pair = (now, before)
        if pair not in self._changes:
            self._changes = {pair: self._compare(now, before)}  # one: the members of a fan-out ask the same
        return self._changes[pair]

    def _compare(self, now: Digest, before: Digest) -> list[str]:
        try:
            mine, other = ({p: sha256 for p, _, sha256 in self._content.entries(tree)} for tree in (now, before))
        except NotFoundError:
            return []
        paths = sorted(path for path in {*mine, *other} if mine.get(path) != other.get(path))
        how = {(True, True): "differs", (True, False): "is new", (False, True): "is gone"}
        return [f"{path} {how[path in mine, path in other]}" for path in paths]

    def _tree(self, code: CodeTree) -> SourceTree:
        tree = self._trees.get(code)
        if tree is None:
            files = [TreeFile(path, sha256) for path, _, sha256 in self._content.entries(code.digest)]
            if len(self._trees) >= _KEPT:
                self._trees.pop(next(iter(self._trees)))
            tree = self._trees[code] = SourceTree(code, files, self._read)
        return tree

    def _read(self, file: TreeFile) -> Imports:
        known = self._known.get(file.sha256)
        if known is None:
            with self._database.reading() as rows:
                known = cache.known_imports(rows, file.sha256, READING)
            if known is None:
                known = self._look(file)
            self._known[file.sha256] = known
        return known

    def _look(self, file: TreeFile) -> Imports:
        try:
            found = imports_of(self._content.blob(file.sha256))
        except NotFoundError:
            return Imports(dynamic="is missing in the content store")
        self._new[file.sha256] = found
        return found
