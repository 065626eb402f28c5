"""A real S3 server for tests, and the environment with the libraries that talk to it: ``make test-all`` makes that."""

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEY, SECRET = "ak", "sk-of-nobody-1234"
PATIENCE_S = 60.0
_FIRST, _LAST, _GRPC = 12_000, 50_000, 10_000

PREAMBLE = """\
import boto3, os, sys
from botocore.config import Config
s3 = boto3.client("s3", config=Config(retries={"max_attempts": 10}))
"""


def environment() -> Path:
    """Return the environment that ``requirements/sources.txt`` describes; fails where it is not made."""
    found = Path(os.environ.get("TW_TEST_SOURCES", ROOT / ".venv-sources")).absolute()
    if not (found / "bin" / "tw").exists():
        pytest.fail(f"{found} is missing: run make test-all, or make .venv-sources/.ours")
    return found


def python(*words: str, **environ: str) -> str:
    """Run Python of that environment; return what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TW_", "AWS_", "PYTHON"))}
    command = (str(environment() / "bin" / "python"), *words)
    done = subprocess.run(command, check=False, env=env | environ, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Seaweed:
    """SeaweedFS with an S3 face on 127.0.0.1, in a folder of its own, ended by its pid."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tw-weed-")
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def environ(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def __enter__(self) -> "Seaweed":
        folder = Path(self._folder.name)
        identity = {
            "name": "a",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        (folder / "data").mkdir()
        master, volume, filer, self.port = free_ports(4)
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                (
                    *(str(environment() / "bin" / "weed"), "server", f"-dir={folder / 'data'}"),
                    *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-master.port={master}", f"-volume.port={volume}"),
                    *("-filer=true", f"-filer.port={filer}", "-s3=true", f"-s3.port={self.port}"),
                    *(f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0"),
                    *(f"-filer.localSocket={folder / 'f.sock'}", f"-s3.localSocket={folder / 's.sock'}"),
                    *("-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=200"),
                ),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait(folder / "log")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def do(self, code: str) -> str:
        """Run a program that has ``s3``, a client of this server; return what it prints."""
        return python("-c", PREAMBLE + code, **self.environ)

    def _wait(self, log: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=2).close()
            except urllib.error.HTTPError as error:  # it answers, if only to refuse
                error.close()
                return
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("the server does not start:\n" + log.read_text(errors="replace")[-3000:])


class Narrow:
    """A line to a port that lets so many bytes of answers through and then none, until it is opened."""

    def __init__(self, port: int, allowed: int) -> None:
        self._target = port
        self._left = allowed
        self._lock = threading.Lock()
        self._free = threading.Event()
        self._blocked = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]

    def __enter__(self) -> "Narrow":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open()
        self._server.close()

    def is_blocked(self) -> bool:
        return self._blocked.is_set()

    def open(self) -> None:
        self._free.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._target)) as far:
            asking = threading.Thread(target=self._pump, args=(near, far), kwargs={"counted": False}, daemon=True)
            asking.start()
            self._pump(far, near, counted=True)
            asking.join()

    def _pump(self, one: socket.socket, other: socket.socket, *, counted: bool) -> None:
        try:
            while data := one.recv(1 << 16):
                if counted and not self._free.is_set():
                    self._count(len(data))
                other.sendall(data)
        except OSError:
            return
        finally:
            for end in (one, other):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _count(self, size: int) -> None:
        with self._lock:
            self._left -= size
            over = self._left < 0
        if over:
            self._blocked.set()
            self._free.wait()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on, and whose gRPC neighbour is free as well."""
    found: list[int] = []
    port = _FIRST + os.getpid() * 7 % (_LAST - _FIRST)
    while len(found) < count:
        port = port + 1 if port < _LAST else _FIRST
        if is_free(port) and is_free(port + _GRPC):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
