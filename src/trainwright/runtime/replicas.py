"""The replicas of an attempt on this machine: one command each, in one runner, with one log.

They share the working folder, inputs, outputs and checkpoints, as on machines with a common disk. What replica 0 writes
stands in the log as it is; lines of the others begin with their rank: ``[1] …``. What the calls of a script tell, what
a function returns and which checkpoints are kept is up to replica 0 alone, see ``counts``.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

HERE = "127.0.0.1"

_LONGEST_LINE = 1 << 16
_PATIENCE_S = 5.0


def counts(environ: Mapping[str, str]) -> bool:
    """Tell whether what the replica with this environment tells and returns counts: that of rank 0 does."""
    return environ.get("TW_NODE_RANK", "0") == "0"


def devices(job: dict[str, Any]) -> list[list[int]]:
    """Return the devices of each replica of a job, in order of rank."""
    places = job.get("places") or ()
    return [place["devices"] for place in places] or [job["devices"]]


def visible(indices: Iterable[int]) -> dict[bytes, bytes]:
    """Return the variables that show these GPUs and no others."""
    listed = ",".join(map(str, indices)).encode()
    # as NVML counts; CUDA's own order is the fastest first
    return {b"CUDA_VISIBLE_DEVICES": listed, b"CUDA_DEVICE_ORDER": b"PCI_BUS_ID"}


def facts(given: list[list[int]], rank: int) -> dict[str, str]:
    """Return the variables by which every replica knows its place among the others.

    Args:
        given: devices of each replica.
        rank: of the one that is asked for.
    """
    return {
        "TW_NODE_RANK": str(rank),
        "TW_NUM_NODES": str(len(given)),
        "TW_NODE_IPS": "\n".join([HERE] * len(given)),
        "TW_NUM_GPUS_PER_NODE": str(len(given[rank])),
    }


def meeting(given: list[list[int]], rank: int, port: int) -> dict[str, str]:
    """Return the variables by which replicas of a gang find one another, as training processes and torchrun read them.

    Each command is one process of the world; a launcher that makes several of it sets them anew for its workers.
    """
    count, own = str(len(given)), str(rank)
    return {
        "MASTER_ADDR": HERE,
        "MASTER_PORT": str(port),
        "RANK": own,
        "WORLD_SIZE": count,
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": own,
        "ROLE_NAME": "default",
        "ROLE_RANK": own,
        "ROLE_WORLD_SIZE": count,
        "PET_NNODES": count,
        "PET_NODE_RANK": own,
        "PET_NPROC_PER_NODE": str(max(1, len(given[rank]))),
        "PET_MASTER_ADDR": HERE,
        "PET_MASTER_PORT": str(port),
    }


class Gang:
    """The commands of an attempt; of most attempts it is one.

    Attributes:
        commands: their pids, by rank.
    """

    def __init__(
        self, job: dict[str, Any], log: int, start: Callable[[list[bytes], dict[bytes, bytes], int], int]
    ) -> None:
        """Prepare.

        Args:
            job: of the attempt.
            log: descriptor of its log, opened to append.
            start: starts one command, see ``tree.spawn``.
        """
        self._devices = devices(job)
        self._log, self._start = log, start
        self._ends: dict[int, int] = {}  # where lines of replicas above 0 are read, by rank
        self._pumps: list[threading.Thread] = []
        self.commands: list[int] = []

    def start(self, argv: list[bytes], env: dict[bytes, bytes]) -> None:
        """Start every replica.

        Raises:
            OSError: one cannot be executed; those before it run.
        """
        if len(self._devices) == 1:
            self.commands.append(self._start(argv, env, self._log))
            return
        port = _free_port()
        for rank, given in enumerate(self._devices):
            own = {**facts(self._devices, rank), **meeting(self._devices, rank, port)}
            whole = {**env, **visible(given), **{name.encode(): text.encode() for name, text in own.items()}}
            if rank == 0:
                self.commands.append(self._start(argv, whole, self._log))
                continue
            self._ends[rank], writing = os.pipe2(os.O_CLOEXEC)
            try:
                self.commands.append(self._start(argv, whole, writing))
            finally:
                os.close(writing)

    def follow(self) -> None:
        """Begin to copy the lines of replicas above 0 to the log."""
        if self._ends:
            import threading  # 3 ms that an attempt of one replica does not pay

            for rank, end in self._ends.items():
                pump = threading.Thread(target=_copy, args=(end, self._log, b"[%d] " % rank), daemon=True)
                pump.start()
                self._pumps.append(pump)
        else:
            os.close(self._log)

    def close(self) -> None:
        """Copy what is left, once no process writes any more."""
        for pump in self._pumps:
            pump.join(_PATIENCE_S)
        if self._pumps:
            os.close(self._log)

    def told(self, command: int, *, failed: bool) -> str:
        """Return which replica decided the end, when it is not the only one and failed."""
        if not failed or len(self.commands) == 1:
            return ""
        return f"replica {self.commands.index(command)} of {len(self.commands)} failed first"


def _copy(source: int, log: int, mark: bytes) -> None:
    """Copy lines with a mark before each, until nobody writes; what a full disk does not take is lost."""
    rest = b""
    while part := os.read(source, 1 << 16):
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines.append(rest)
            rest = b""
        _append(log, lines, mark)
    _append(log, [rest] if rest else [], mark)
    os.close(source)


def _append(log: int, lines: list[bytes], mark: bytes) -> None:
    from trainwright.runtime import atomic

    try:
        atomic.write_all(log, b"".join(mark + line + b"\n" for line in lines))
    except OSError:
        return


def _free_port() -> int:
    """Return a port of this machine that nobody listens on at present."""
    import socket

    with socket.socket() as probe:
        probe.bind((HERE, 0))
        port: int = probe.getsockname()[1]
        return port
