"""Small wheels in a folder, and the variables with which uv knows no other place: nothing here needs a network."""

import base64
import contextlib
import hashlib
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def wheel(folder: Path, name: str, version: str, needs: str = "", text: str = "") -> Path:
    """A package with one module, ``VERSION`` in it; returns the path of its wheel."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    requires = f"Requires-Dist: {needs}\n" if needs else ""
    files = {
        f"{name}.py": f"VERSION = {version!r}\n{text}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:main\n",
    }
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content.encode())}\n")
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"])
    target = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content)
    return target


def hash_of(path: Path) -> str:
    """What a lock says of a wheel."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def only_here(house: Path) -> dict[str, str]:
    """Variables with which uv finds packages in ``house`` and nowhere else."""
    return _settings(house / "uv.toml", f'no-index = true\nfind-links = ["{house}"]\n')


def _settings(path: Path, text: str) -> dict[str, str]:
    path.write_text(text, encoding="utf-8")
    return {"UV_CONFIG_FILE": str(path), "UV_PYTHON_DOWNLOADS": "never"}


def surroundings(house: Path, **more: str) -> dict[str, str]:
    """A whole environment of a process that installs from ``house``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TW_", "UV_"))}
    return {**kept, **only_here(house), **more}


class Index:
    """A package index on this machine that answers for a wheel only when it may.

    Attributes:
        settings: variables with which uv knows it alone.
    """

    def __init__(self, house: Path) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.strip("/").rpartition("/")[2]
                if name.endswith(".whl"):
                    outer.asked.set()
                    outer.may_answer.wait(60)
                    body = (house / name).read_bytes()
                else:
                    wheels = sorted(path.name for path in house.glob(f"{name}-*.whl"))
                    body = "".join(f'<a href="/files/{w}#sha256={hash_of(house / w)}">{w}</a>' for w in wheels).encode()
                with contextlib.suppress(OSError):  # whoever asked was killed
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    if self.command == "GET":
                        self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 - as above

            def log_message(self, *_: object) -> None:
                """Be quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        address = f"http://127.0.0.1:{self.server.server_port}/simple"
        self.settings = _settings(house / "index.toml", f'[[index]]\nurl = "{address}"\ndefault = true\n')

    def __enter__(self) -> "Index":
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.may_answer.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
