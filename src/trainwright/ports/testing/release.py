"""The contract of ``ports.release.ReleasePlugin`` as tests: one for each promise, named after it.

Subclass it as ``Test…`` and fill in the methods at the top.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trainwright.core.errors import BackendError, SpecError
from trainwright.core.ids import Digest
from trainwright.core.scalar import Plain
from trainwright.ports.release import Export, ReleaseFile, ReleaseOrder, ReleasePlugin
from trainwright.ports.testing.backend import promise
from trainwright.ports.testing.clock import BEGINNING

CONTENT: Mapping[int, Mapping[str, bytes]] = {
    1: {"model.json": b"{}\n"},
    2: {"weights/a.bin": b"\0\1\2", "model.json": b"[2]\n"},
}
"""Version → the files of a folder."""


class Died(BaseException):
    """The process is killed here."""


class ReleaseContract(ABC):
    """Every release plugin passes this."""

    @abstractmethod
    def open(self) -> ReleasePlugin:
        """Return the plugin over the world of this test."""

    @abstractmethod
    def settings(self) -> Mapping[str, Plain]:
        """Return the ``with:`` of a target in the world of this test."""

    @abstractmethod
    def serves(self, model: str) -> int | None:
        """Return the version of a model that whoever reads the target gets now, whole; None for none."""

    @abstractmethod
    def out_of_reach(self) -> None:
        """Make the target unreachable from here on."""

    def order(self, version: int, *, identity: str = "") -> ReleaseOrder:
        """Return an order for one of the versions of ``CONTENT``."""
        files = tuple(
            ReleaseFile(path, len(data), hashlib.sha256(data).hexdigest())
            for path, data in sorted(CONTENT[version].items())
        )
        complete = self.open().check(self.settings(), Path("/"))
        return ReleaseOrder(
            id=identity or f"t-{version}", project="p", target="t", settings=complete, model="digits",
            version=version, digest=Digest(f"sha256:{version:064x}"), alias="production", files=files,
            asked_at=BEGINNING, asked_by="ada", facts={"metrics": {"auc": 0.9}},
        )  # fmt: skip

    def export_of(self, version: int) -> Export:
        """Return what copies the files of a version out."""

        def export(target: Path) -> Path:
            for path, data in CONTENT[version].items():
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(data)
            return target

        return export

    def release(self, version: int, *, identity: str = "") -> str:
        """Carry out an order."""
        return self.open().release(self.order(version, identity=identity), self.export_of(version))

    def test_what_is_released_is_served_and_has_a_place(self) -> None:
        """Promise 1."""
        promise("a place is named", bool(self.release(1)))
        promise("the version serves", self.serves("digits") == 1)

    def test_a_later_release_takes_the_place_of_an_earlier_one_and_back(self) -> None:
        """Promise 2."""
        self.release(1)
        self.release(2)
        promise("the later one serves", self.serves("digits") == 2)  # noqa: PLR2004
        back = replace(self.order(1, identity="t-3"), rolls_back=True)
        self.open().release(back, self.export_of(1))
        promise("the earlier one serves again", self.serves("digits") == 1)

    def test_a_repeated_release_ends_in_the_same(self) -> None:
        """Promise 3."""
        first = self.release(1)
        promise("the place is the same", self.release(1) == first)
        promise("it serves", self.serves("digits") == 1)

    def test_a_release_that_died_while_it_copied_changes_nothing_and_can_be_repeated(self) -> None:
        """Promise 4."""
        self.release(1)

        def dies(target: Path) -> Path:
            self.export_of(2)(target)
            raise Died

        try:
            self.open().release(self.order(2), dies)
        except Died:
            promise("the version before still serves", self.serves("digits") == 1)
        self.release(2)
        promise("the repeated one serves", self.serves("digits") == 2)  # noqa: PLR2004

    def test_a_target_out_of_reach_is_an_error_of_the_backend(self) -> None:
        """Promise 5."""
        order = self.order(1)
        self.out_of_reach()
        try:
            self.open().release(order, self.export_of(1))
        except BackendError as error:
            promise("the error has the code of releases", error.problem.code == "TW6901")
            return
        promise("an unreachable target is an error", held=False)

    def test_settings_of_nobody_are_refused(self) -> None:
        """Promise 6."""
        for wrong in ({}, {**self.settings(), "no-such-setting": 1}):
            try:
                self.open().check(wrong, Path("/"))
            except SpecError as error:
                promise("the error has the code of targets", error.problem.code == "TW2903")
                continue
            promise(f"{wrong} is refused", held=False)

    def test_complete_settings_stay_as_they_are(self) -> None:
        """Promise 7."""
        complete = self.open().check(self.settings(), Path("/"))
        promise("checking twice is checking once", self.open().check(complete, Path("/elsewhere")) == complete)
