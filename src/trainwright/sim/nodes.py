"""Nodes as a person asks for them on a command line: ``8xA100:8``, ``+4``, ``-2``, ``+2xH100:8,cpu=96,memory=1Ti``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from trainwright.core import quantity
from trainwright.core.node import WHOLE, Device, Node, emptied
from trainwright.core.resources import Resources
from trainwright.sim.mistakes import wrong

_WORD = re.compile(r"(?P<sign>[+-]?)(?P<count>\d{1,6})(?:x(?P<kind>[\w. -]+?)(?::(?P<gpus>\d{1,2}))?(?P<more>,.*)?)?")
_EXAMPLE = "write it as +4 (more of those there are), -2, 8xA100:8 (eight nodes with eight A100 each) or 4xcpu,cpu=64"
_VRAM = {"H200": "141Gi", "H100": "80Gi", "A100": "80Gi", "L40S": "48Gi", "A10": "24Gi", "L4": "24Gi", "V100": "32Gi",
         "P100": "16Gi", "T4": "16Gi"}  # fmt: skip
_CPU_PER_GPU, _MEMORY_PER_GPU = 16_000, 128 * 2**30
_CPU_NODE = Resources(32_000, 128 * 2**30)
CPU = "cpu"
MOST = 100_000


def asked_nodes(words: Iterable[str], there: Sequence[Node]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the nodes before and after the change.

    Args:
        words: without a sign the nodes stand in the place of those that are there, before and after; with one they
            come or go, after.
        there: what there is by itself.

    Raises:
        SpecError: a word is none of these, or more nodes are to go than there are.
    """
    matches = [(word, _WORD.fullmatch(word.strip())) for word in words]
    for word, match in matches:
        if match is None or (match["sign"] == "-" and match["kind"]):
            wrong("--nodes", f"{word!r} are no nodes", remedy=_EXAMPLE)
    found = [(word, match) for word, match in matches if match is not None]
    plain = [match for _, match in found if not match["sign"]]
    if any(match["kind"] is None for match in plain):
        wrong("--nodes", "a number alone does not say what the nodes have", remedy=_EXAMPLE)
    before = [emptied(node) for node in there] if not plain else []
    for match in plain:
        before += _kind(match, len(before))
    after = list(before)
    for word, match in found:
        if match["sign"] == "+":
            after += _more(match, after, word)
        elif match["sign"] == "-":
            count = int(match["count"])
            if count >= len(after):
                wrong("--nodes", f"{word} takes all of {len(after)} nodes away", remedy="leave one")
            after = after[: len(after) - count]
    if max(len(before), len(after)) > MOST:
        wrong("--nodes", f"more than {MOST} nodes", remedy="ask for fewer")
    return tuple(before), tuple(after)


def _more(match: re.Match[str], there: Sequence[Node], word: str) -> list[Node]:
    if match["kind"]:
        return _kind(match, len(there))
    if not there:
        wrong("--nodes", f"{word} of what? there are none", remedy=_EXAMPLE)
    model = max(there, key=lambda node: (node.total.gpu_milli, node.total.cpu_milli, node.name))
    first = len(there)
    return [replace(model, name=f"{model.name}+{n:05d}") for n in range(first, first + int(match["count"]))]


def _kind(match: re.Match[str], first: int) -> list[Node]:
    """Return nodes of a stated kind, numbered from ``first``."""
    kind, count = match["kind"], int(match["count"])
    gpus = 0 if kind.lower() == CPU else int(match["gpus"] or 1)
    total = Resources(_CPU_PER_GPU * gpus, _MEMORY_PER_GPU * gpus, gpus * WHOLE) if gpus else _CPU_NODE
    vram = quantity.memory_bytes(next((m for k, m in _VRAM.items() if kind.upper().startswith(k)), "80Gi"))
    for pair in filter(None, (match["more"] or "").split(",")):
        key, _, value = pair.partition("=")
        try:
            if key == "cpu":
                total = replace(total, cpu_milli=quantity.cpu_milli(value))
            elif key == "memory":
                total = replace(total, memory_bytes=quantity.memory_bytes(value))
            elif key == "gpu_memory":
                vram = quantity.memory_bytes(value)
            else:
                wrong("--nodes", f"a node has no {key!r}", key, ("cpu", "memory", "gpu_memory"))
        except ValueError as error:
            wrong("--nodes", str(error))
    devices = tuple(Device(index, kind, vram, WHOLE, vram) for index in range(gpus))
    return [Node(f"{kind.lower()}-{n:05d}", total, total, devices) for n in range(first, first + count)]
