"""What platform documents say, as values: who owns what, and what has to hold before an alias moves or a model leaves.

Each is the ``spec:`` of one kind, checked by ``spec.kinds``; a stored one is read back with ``codec.from_json``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase

from trainwright.core.scalar import Plain


@dataclass(frozen=True, slots=True)
class AliasPolicy:
    """What a version has to show before an alias may point at it.

    Attributes:
        name: of the document.
        models: globs; one of them has to fit the name of the model.
        alias: that it governs.
        require: conditions on the version's metrics; ``production.…`` is the version in production.
        came_from: alias that has to have pointed at the version before; empty = none.
        checks: expressions that have to be among the checks that the version has passed.
        passed_checks: how many checks of its author's it has to have passed at least.
        baseline_required: whether a condition with ``production.…`` fails before there is one.
    """

    name: str
    models: tuple[str, ...]
    alias: str
    require: tuple[str, ...] = ()
    came_from: str = ""
    checks: tuple[str, ...] = ()
    passed_checks: int = 1
    baseline_required: bool = False

    def governs(self, model: str, alias: str) -> bool:
        """Tell whether moves of this alias of this model are its business."""
        return alias == self.alias and any(fnmatchcase(model, glob) for glob in self.models)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A part of the names, and who answers for it.

    Attributes:
        name: of the document.
        match: globs of addresses: ``datasets/ads/*``, ``models/*``, ``pipelines/nightly``.
        team: that owns it; empty = nobody is named.
        clean_code: whether a run that reads or makes something in it needs committed code.
    """

    name: str
    match: tuple[str, ...]
    team: str = ""
    clean_code: bool = False

    def holds(self, address: str) -> bool:
        """Tell whether an address without a version, such as ``models/digits``, lies in it."""
        return any(fnmatchcase(address, glob) for glob in self.match)


@dataclass(frozen=True, slots=True)
class ReleaseTarget:
    """A place that models are released to.

    Attributes:
        name: of the document.
        type: of the plugin: ``folder``, ``webhook``.
        settings: as the plugin understands them.
        require_alias: alias that has to point at a version before it may be released there; empty = any version may.
    """

    name: str
    type: str
    settings: Mapping[str, Plain] = field(default_factory=dict)
    require_alias: str = ""


@dataclass(frozen=True, slots=True)
class AppliedDocument:
    """One revision of a platform document.

    Attributes:
        revision: 1, 2, 3 … within the document; what compare-and-set compares.
        spec: as its author wrote it; None when the document was taken away.
        value: what that means, as decisions read it.
        reason: what the person said; may be empty.
    """

    kind: str
    name: str
    revision: int
    spec: Mapping[str, Plain] | None
    value: Mapping[str, Plain]
    reason: str
    applied_at: datetime
    applied_by: str

    @property
    def address(self) -> str:
        """Return ``AliasPolicy/production``."""
        return f"{self.kind}/{self.name}"


def owners(namespaces: Iterable[Namespace], address: str) -> tuple[str, ...]:
    """Return the teams that an address belongs to, by the names of their namespaces, each once."""
    held = sorted((n.name, n.team) for n in namespaces if n.team and n.holds(address))
    return tuple(dict.fromkeys(team for _, team in held))
