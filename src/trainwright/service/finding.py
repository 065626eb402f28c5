"""One thing that ``tw doctor`` looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, and its fix.

    Attributes:
        needed: whether trainwright cannot work, or something is lost, as long as it is not ok.
        remedy: what to do when it is not ok.
        addresses: datasets, models and outputs that it is about.
    """

    subject: str
    ok: bool
    words: str
    remedy: str = ""
    needed: bool = True
    addresses: tuple[str, ...] = ()
