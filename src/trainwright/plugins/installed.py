"""Data sources that are installed: found by their entry points, loaded when somebody asks for one."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from trainwright.core.errors import BackendError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from trainwright.ports.source import DataSource


class InstalledSources(Mapping[str, "DataSource"]):
    """Every installed data source by its schemes; looked for when a pipeline first asks for one.

    A plugin whose name is the scheme is asked first, so that ``file:`` loads nothing but its own module.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, DataSource] = {}
        self._by_scheme: dict[str, DataSource] | None = None

    def __getitem__(self, scheme: str) -> "DataSource":
        if self._by_scheme is None and scheme in self._points:
            source = self._load(scheme)
            if scheme in source.schemes:
                return source
        return self._all()[scheme]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    @cached_property
    def _points(self) -> dict[str, "EntryPoint"]:
        from importlib.metadata import entry_points

        return {point.name: point for point in entry_points(group="trainwright.sources")}

    def _all(self) -> dict[str, "DataSource"]:
        if self._by_scheme is None:
            sources = [self._load(name) for name in sorted(self._points, reverse=True)]  # of two the first name stays
            self._by_scheme = {scheme: source for source in sources for scheme in source.schemes}
        return self._by_scheme

    def _load(self, name: str) -> "DataSource":
        if name not in self._loaded:
            point = self._points[name]
            try:
                self._loaded[name] = point.load()()
            except Exception as error:
                package = point.dist.name if point.dist else point.value
                raise BackendError(
                    "TW6403",
                    f"the data source {name} of {package} cannot be loaded: {type(error).__name__}: {error}",
                    remedy=f"update or uninstall {package}",
                ) from error
        return self._loaded[name]
