"""What every data source promises, as functions over a place that a test can fill.

They need no pytest: sources whose libraries live in an environment of their own are proved there. A function raises
``AssertionError`` when a promise is broken.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from trainwright.core.errors import BackendError, NotFoundError, TrainwrightError
from trainwright.ports.source import DataSource, Located, Snapshot

FIRST: Mapping[str, bytes] = {"a.csv": b"1,2\n", "b.csv": b"3,4\n", "deep/c.csv": b"5,6\n"}
SECOND: Mapping[str, bytes] = {**FIRST, "b.csv": b"3,5\n"}


class SourceLab(Protocol):
    """A place that one source reads from.

    Attributes:
        source: under test.
        base: absolute folder.
        uri: of what ``fill`` made.
        missing: a URI of the same kind behind which nothing is.
        relative: the same as ``uri``, from ``base``; empty when the scheme has no relative ones.
        unreachable: a URI on a host that does not answer; empty when the source has no transport.
        host: of it, as a message names it.
    """

    source: DataSource
    base: Path
    uri: str
    missing: str
    relative: str
    unreachable: str
    host: str

    def fill(self, files: Mapping[str, bytes]) -> None:
        """Make this the present content; a mapping in another order is the same content."""
        ...

    def digest(self, located: Located) -> str:
        """Return the digest under which a content store has it."""
        ...


def equal_content_has_the_equal_digest_in_whatever_order(lab: SourceLab) -> None:
    """1. Equal content gives the equal digest, whatever the order in which it is listed."""
    lab.fill(FIRST)
    located = lab.source.locate(lab.uri, lab.base)
    first = lab.digest(located)
    if not isinstance(located, Snapshot):  # what somebody else numbers may have a new number
        lab.fill(dict(sorted(FIRST.items(), reverse=True)))
    _insist(lab.digest(lab.source.locate(lab.uri, lab.base)) == first, "equal content has another digest")


def changed_content_has_another_digest(lab: SourceLab) -> None:
    """2. Changed content gives another digest."""
    lab.fill(FIRST)
    first = lab.digest(lab.source.locate(lab.uri, lab.base))
    lab.fill(SECOND)
    _insist(lab.digest(lab.source.locate(lab.uri, lab.base)) != first, "changed content has the same digest")


def what_is_missing_is_told_with_a_remedy(lab: SourceLab) -> None:
    """3. What is missing is a ``NotFoundError`` with a remedy."""
    lab.fill(FIRST)
    error = _refusal(lab, lab.missing)
    _insist(isinstance(error, NotFoundError), f"a missing place is told by {type(error).__name__}")
    _insist(bool(error.problem.remedy), "it has no remedy")


def relative_uris_start_at_the_base(lab: SourceLab) -> None:
    """4. Relative URIs start at ``base``, where the scheme has relative ones."""
    lab.fill(FIRST)
    if lab.relative:
        there = lab.digest(lab.source.locate(lab.relative, lab.base))
        _insist(there == lab.digest(lab.source.locate(lab.uri, lab.base)), "a relative URI leads elsewhere")


def a_transport_that_fails_names_the_host(lab: SourceLab) -> None:
    """5. A transport that fails is a ``BackendError`` which names the host."""
    if lab.unreachable:
        error = _refusal(lab, lab.unreachable)
        _insist(isinstance(error, BackendError), f"a dead host is told by {type(error).__name__}: {error}")
        _insist(lab.host in error.problem.message, f"{lab.host} is not named: {error}")


def the_uri_of_a_snapshot_leads_to_it(lab: SourceLab) -> None:
    """6. The ``uri`` of a snapshot leads to the same snapshot, also when there is a newer one."""
    lab.fill(FIRST)
    located = lab.source.locate(lab.uri, lab.base)
    lab.fill(SECOND)
    if isinstance(located, Snapshot):
        _insist(lab.source.locate(located.uri, lab.base) == located, f"{located.uri} leads elsewhere")


PROMISES: tuple[Callable[[SourceLab], None], ...] = (
    equal_content_has_the_equal_digest_in_whatever_order,
    changed_content_has_another_digest,
    what_is_missing_is_told_with_a_remedy,
    relative_uris_start_at_the_base,
    a_transport_that_fails_names_the_host,
    the_uri_of_a_snapshot_leads_to_it,
)


def _refusal(lab: SourceLab, uri: str) -> TrainwrightError:
    """Return what the source raises, whether it notices at once or when the bytes are read."""
    try:
        lab.digest(lab.source.locate(uri, lab.base))
    except TrainwrightError as error:
        return error
    raise AssertionError(f"{uri} was found")


def _insist(holds: bool, what: str) -> None:  # noqa: FBT001 - reads like assert
    if not holds:
        raise AssertionError(what)
