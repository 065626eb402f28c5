"""How long workloads ran, counted in classes of time, so that a policy can learn from it without seeing the future."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Lives:
    """Of one class of workloads: when they ended.

    Attributes:
        ended: bin of attained service → how many ended in it.
    """

    ended: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class History:
    """Ends by size of the gang and by kin.

    Attributes:
        by_size: GPUs of the whole gang → lives.
        by_kin: kin → lives.
    """

    by_size: Mapping[int, Lives] = field(default_factory=dict)
    by_kin: Mapping[str, Lives] = field(default_factory=dict)
