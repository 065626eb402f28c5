"""The resident supervisor of one machine and user: forks a runner for each attempt, in a millisecond or two.

It is single-threaded and has the modules of the runner loaded, so a fork is all a start costs; those that deal with
content come when the first runner has needed them. It holds nothing that matters: runners are in sessions of their own
and outlive it, whoever finds it dead starts a runner directly (see ``request``), and it leaves when nobody has asked
for a while. With modules to import it is a warm interpreter, see ``warm``, whose runners stay, see ``crew``.

A request is a frame: four bytes of length, then the attempt's folder and the environment of the command as it is
where the person typed, all separated by NUL. The socket has mode 0600 in a folder of 0700, and peers are checked by
SO_PEERCRED: environments hold secrets.
"""

from __future__ import annotations

import os
import struct
import sys

from trainwright.runtime import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from trainwright.runtime.crew import Crew
    from trainwright.runtime.warm import Warm

    Start = Callable[[list[bytes], dict[bytes, bytes], int], int]
else:
    try:
        import _socket as socket  # the plain module: socket itself loads enum and selectors first
    except ImportError:
        import socket

IDLE_S = 600.0
"""Seconds without a request after which the supervisor leaves."""

_PATIENCE_S = 2.0
"""How long either end waits for the other."""

_LONGEST = 1 << 22
_LENGTH = struct.Struct(">I")
_CREDENTIALS = struct.Struct("3i")


def request(path: str, folder: str, env: Mapping[bytes, bytes]) -> int | None:
    """Ask the supervisor behind ``path`` for a runner of the attempt in ``folder``.

    Returns a descriptor, the caller's to close, that hangs up when the runner is done with the attempt, or died. None
    means that nobody answered, or not in time. A runner may have begun all the same: starting another one is harmless,
    since an attempt is taken only once.
    """
    body = b"\0".join([os.fsencode(folder), *(k + b"=" + v for k, v in env.items())])
    try:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            peer.settimeout(_PATIENCE_S)
            peer.connect(path)
            if _owner(peer) != os.getuid():
                return None
            peer.sendall(_LENGTH.pack(len(body)) + body)
            return peer.detach() if len(peer.recv(_LENGTH.size)) == _LENGTH.size else None
        finally:
            peer.close()
    except OSError:
        return None


def is_listening(path: str) -> bool:
    """Tell whether a supervisor serves ``path``, without disturbing it."""
    try:
        lines = [line.split(None, 7) for line in reading.read("/proc/net/unix").splitlines()]
    except OSError:
        return False
    # the fourth field has the bit of a listener; the name is the one it was bound to, see _listen
    mark = os.fsencode(path) + b"."
    return any(len(f) == 8 and f[7].startswith(mark) and int(f[3], 16) & 0x10000 for f in lines[1:])  # noqa: PLR2004


def supervise(path: str, modules: str = "") -> None:
    """Serve requests until nobody asks any more; returns at once when another supervisor serves ``path``.

    Args:
        path: of the socket.
        modules: to be imported before, with commas between; when they may not be forked, nothing is served.

    Raises:
        OSError: the socket cannot be made.
    """
    import fcntl

    lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    warm = None
    if modules:
        from trainwright.runtime.warm import prepare

        warm = prepare(path, modules.split(","))
        if warm is None:
            return
    listener = _listen(path)
    _prepare()
    try:
        _serve(listener, lock, warm)
    finally:
        os.unlink(path)


def _listen(path: str) -> socket.socket:
    draft = f"{path}.{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(draft)
    finally:
        os.umask(mask)
    listener.listen(128)
    os.rename(draft, path)  # replaces what a dead one left; who connects finds it listening
    return listener


def _prepare() -> None:
    """Load what runners need, and keep forks cheap: nothing is collected, nothing is touched."""
    import gc
    import resource

    from trainwright.runtime import runner, tree

    _ = tree.c_function("prctl"), tree.c_function("renameat2"), tree.boot_id(), resource, runner
    tree.on_end_of_child(_reap)  # interrupts the wait for the next request
    tree.ignore_terminal()
    gc.disable()
    gc.freeze()


def _load_content() -> None:
    """Load what deals with content, on behalf of all later runners."""
    import gc

    from trainwright.runtime import checkout, checkpoint, content, formats

    _ = checkout, checkpoint, content, formats
    gc.freeze()


def _reap(*_: object) -> None:
    """Collect every runner that has ended, so that none stays a zombie."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _serve(listener: socket.socket, lock: int, warm: Warm | None) -> None:
    listener.settimeout(IDLE_S)
    crew = None
    if warm is not None:
        from trainwright.runtime.crew import Crew

        crew = Crew()
    while True:
        try:
            fd, _ = listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - of the plain module
        except TimeoutError:
            return
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd)
        try:
            if warm is not None and not warm.is_current():
                return
            if crew is None or not crew.take(peer):
                _answer(peer, (listener.fileno(), lock), warm, crew)
        finally:
            peer.close()
        if "trainwright.runtime.content" not in sys.modules:
            _load_content()  # now, and not when it is needed: the file that we come from may be gone by then


def _answer(peer: socket.socket, ours: tuple[int, ...], warm: Warm | None, crew: Crew | None) -> None:
    from trainwright.runtime import tree

    line = None
    try:
        asked = _receive(peer)
        if asked is None:
            return
        if crew is not None:
            line = crew.line()
            ours = (*ours, *crew.descriptors())
        pid = os.fork()
        if pid == 0:
            _become_runner(peer, asked, ours, tree.spawn if warm is None else warm.start, line)
        _confirm(peer, pid)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"a request failed: {error}\n")
    finally:
        if line is not None:
            line.close()


def _receive(peer: socket.socket) -> bytes | None:
    """Return what a peer asks for; None when it is not for him to ask.

    Raises:
        OSError: he does not go on in time.
        ValueError: it is no request.
    """
    peer.settimeout(_PATIENCE_S)
    return _read(peer) if _owner(peer) == os.getuid() else None


def _read(peer: socket.socket) -> bytes:
    """Return the body of a request; the runner takes it apart, so that it costs nobody else."""
    (length,) = _LENGTH.unpack(_exactly(peer, _LENGTH.size))
    if length > _LONGEST:
        raise ValueError(f"{length} bytes are too many")
    return _exactly(peer, length)


def _exactly(peer: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = peer.recv(min(count, 1 << 16))
        if not part:
            raise ValueError("the request ended early")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _become_runner(
    peer: socket.socket, asked: bytes, ours: tuple[int, ...], start: Start, line: socket.socket | None
) -> None:
    """Carry out an attempt in the forked child, and those that come over the line; never returns.

    Args:
        peer: who asked; hears that the attempt is over when nobody has his connection any more.
        asked: the request.
        ours: descriptors of the supervisor alone: a lock kept here would keep the next one from coming up.
        start: what starts commands.
        line: see ``crew``; None for an attempt only.
    """
    import gc

    from trainwright.runtime import tree

    code = 1
    try:
        gc.enable()
        os.setsid()
        tree.on_end_of_child(None)
        for fd in ours:
            os.close(fd)
        _carry_out(peer, asked, start, line)
        code = 0
    except BaseException:  # noqa: BLE001 - the top of this process; its log is all there is to tell
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _carry_out(peer: socket.socket, asked: bytes | None, start: Start, line: socket.socket | None) -> None:
    import gc

    from trainwright.runtime import crew, runner

    fresh = True
    while asked is not None:
        place, *pairs = asked.split(b"\0")
        folder = os.fsdecode(place)
        env = dict(pair.partition(b"=")[::2] for pair in pairs if pair)
        log = os.open(os.path.join(folder, "runner.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        is_as_before = runner.run(folder, env, start, stays=line is not None)
        if line is None or not is_as_before:
            return  # the end of this process hangs up
        if fresh:  # what is there now stays: the processes of functions need not look at it
            gc.collect()
            gc.freeze()
            fresh = False
        next_peer = crew.wait(line, peer)
        if next_peer is None:
            return
        peer = next_peer
        asked = _receive(peer)
        _confirm(peer, os.getpid())


def _confirm(peer: socket.socket, pid: int) -> None:
    """Tell the peer who took his attempt; it is run also when he is gone."""
    try:
        peer.sendall(_LENGTH.pack(pid))
    except OSError:
        return


def _owner(peer: socket.socket) -> int:
    """Return the user id of the process at the other end."""
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])
