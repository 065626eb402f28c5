"""The only parser of units: cpu, memory, gpu, durations. Kubernetes' spelling, exact integers out.

Every function raises ``ValueError`` with a sentence that names the value and an example.
"""

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}


def cpu_milli(value: str | float) -> int:
    """Return thousandths of a core: ``2`` → 2000, ``"500m"`` → 500."""
    return _milli(value, "cpu", "2 or 500m")


def gpu_milli(value: str | float) -> int:
    """Return thousandths of a GPU: ``1`` → 1000, ``0.5`` → 500. Above one only whole GPUs."""
    milli = _milli(value, "gpu", "1, 0.5 or 4")
    if milli > 1000 and milli % 1000:
        raise ValueError(f"gpu {value!r} is neither a share of one GPU nor a whole number of them")
    return milli


def memory_bytes(value: str | int | float) -> int:
    """Return bytes: ``"4Gi"`` → 4294967296, ``1024`` → 1024."""
    number, unit = _split(value, "memory", "4Gi or 500M")
    factor = _BINARY.get(unit) or _DECIMAL.get(unit)
    if factor is None:
        raise ValueError(f"memory {value!r} has the unknown unit {unit!r}: write it as 4Gi or 500M")
    return int(number * factor)


def duration(value: str | int | float) -> timedelta:
    """Return a length of time: ``"30s"``, ``"10m"``, ``"1h30m"``, ``"2d"``; a bare number is seconds."""
    text = str(value).strip()
    if isinstance(value, bool) or not text:
        raise ValueError(f"{value!r} is not a duration: write it as 30s, 10m or 24h")
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return _seconds(float(text), value)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text)
    if not parts or "".join(n + u for n, u in parts) != text.replace(" ", ""):
        raise ValueError(f"{value!r} is not a duration: write it as 30s, 10m or 24h")
    return _seconds(float(sum(Decimal(n) * _SECONDS[u] for n, u in parts)), value)


def duration_range(value: str | int | float) -> tuple[timedelta, timedelta]:
    """Return both ends of ``"30s..10m"``; one duration stands for both."""
    low, dots, high = str(value).partition("..")
    first = duration(low if dots else value)
    last = duration(high) if dots else first
    if last < first:
        raise ValueError(f"{value!r} ends before it begins: write the shorter duration first")
    return first, last


def show_bytes(count: int) -> str:
    """Return the shortest common spelling: 4294967296 → ``4Gi``, 1536 → ``1.5Ki``."""
    for unit, factor in reversed(_BINARY.items()):
        if count >= factor:
            return f"{count / factor:.3g}{unit}"
    return f"{count}B"


def show_milli(milli: int) -> str:
    """Return thousandths as a person writes them: 2000 → ``2``, 500 → ``0.5``."""
    return f"{milli / 1000:g}"


def show_duration(seconds: float) -> str:
    """Return a short length of time: 0.42 → ``0.4s``, 75 → ``1m15s``, 7260 → ``2h01m``."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 48 * 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def _seconds(seconds: float, value: str | int | float) -> timedelta:
    try:
        return timedelta(seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"{value!r} is longer than a duration can be: write it as 30s, 10m or 24h") from error


def _milli(value: str | float, what: str, example: str) -> int:
    number, unit = _split(value, what, example)
    if unit not in {"", "m"}:
        raise ValueError(f"{what} {value!r} has the unknown unit {unit!r}: write it as {example}")
    exact = number if unit == "m" else number * 1000
    if exact != int(exact):
        raise ValueError(f"{what} {value!r} is finer than one thousandth")
    return int(exact)


def _split(value: str | int | float, what: str, example: str) -> tuple[Decimal, str]:
    match = None if isinstance(value, bool) else _NUMBER.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"{what} {value!r} is not an amount: write it as {example}")
    try:
        return Decimal(match[1]), match[2]
    except InvalidOperation as error:  # pragma: no cover - the pattern admits only numbers
        raise ValueError(f"{what} {value!r} is not a number") from error
