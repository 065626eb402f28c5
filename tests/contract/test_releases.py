"""The release plugins keep the contract; and what each promises beside it."""

import contextlib
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from trainwright.core.errors import BackendError, SpecError
from trainwright.core.scalar import Plain
from trainwright.plugins.releases.folder import FolderRelease
from trainwright.plugins.releases.webhook import SIGNATURE, WebhookRelease, event, sign
from trainwright.ports.release import ReleaseFile, ReleasePlugin
from trainwright.ports.testing.release import CONTENT, ReleaseContract


class TestFolder(ReleaseContract):
    """A folder of this machine."""

    @pytest.fixture(autouse=True)
    def _world(self, tmp_path: Path) -> None:
        self.root = tmp_path / "serving"

    def open(self) -> ReleasePlugin:
        return FolderRelease()

    def settings(self) -> Mapping[str, Plain]:
        return {"root": str(self.root)}

    def serves(self, model: str) -> int | None:
        current = self.root / model / "current"
        if not current.is_symlink():
            return None
        version = int(current.readlink().name)
        told = json.loads((current / "release.json").read_text())
        assert told["version"] == version
        found = {str(p.relative_to(current)): p.read_bytes() for p in current.rglob("*") if p.is_file()}
        del found["release.json"]
        assert found == CONTENT[version]
        return version

    def out_of_reach(self) -> None:
        self.root.write_text("a file is no folder")

    def test_nothing_but_versions_and_the_link_is_left(self) -> None:
        self.release(1)
        self.release(2)
        self.release(1)
        assert sorted(p.name for p in (self.root / "digits").iterdir()) == ["1", "2", "current"]

    def test_a_damaged_version_is_replaced_whole(self) -> None:
        self.release(1)
        (self.root / "digits" / "1" / "model.json").chmod(0o644)
        (self.root / "digits" / "1" / "model.json").write_bytes(b"bad")
        self.release(1)
        assert self.serves("digits") == 1

    def test_a_single_file_lies_below_its_name(self) -> None:
        data = b"bytes"
        one = replace(self.order(1), files=(ReleaseFile("m.skops", 5, hashlib.sha256(data).hexdigest()),))

        def export(target: Path) -> Path:
            target.write_bytes(data)
            return target

        place = Path(self.open().release(one, export))
        assert (place / "m.skops").read_bytes() == data
        assert self.open().release(one, lambda _: pytest.fail("it is there")) == str(place)

    def test_a_relative_root_is_of_the_folder_of_its_document(self) -> None:
        assert FolderRelease().check({"root": "../out"}, Path("/a/b")) == {"root": "/a/out"}
        assert FolderRelease().check({"root": "s3://bucket/models/"}, Path("/a")) == {"root": "s3://bucket/models"}

    @pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\..\\x", "a\0b", "", "release.json", "./x"])
    def test_g31_a_file_that_would_lie_elsewhere_is_refused(self, path: str) -> None:
        order = replace(self.order(1), files=(ReleaseFile(path, 0, ""),))
        with pytest.raises(BackendError):
            self.open().release(order, self.export_of(1))
        assert not self.root.exists()

    @pytest.mark.parametrize("model", ["../x", "..", ".", "a/b", "/x", ""])
    def test_g31_a_model_that_would_lie_elsewhere_is_refused(self, model: str) -> None:
        with pytest.raises(BackendError):
            self.open().release(replace(self.order(1), model=model), self.export_of(1))
        assert not self.root.exists()

    @pytest.mark.parametrize("place", ["digits", "digits/1"])
    def test_g31_a_link_in_the_way_is_not_followed(self, place: str, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (self.root / place).parent.mkdir(parents=True)
        (self.root / place).symlink_to(outside)
        with pytest.raises(BackendError):
            self.release(1)
        assert list(outside.iterdir()) == []

    def test_killed_between_any_two_calls_of_the_system_it_serves_the_old_or_the_new(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Killed(BaseException):
            pass

        calls = ["rename", "replace", "symlink_to", "mkdir", "unlink"]
        real = {name: getattr(Path, name) for name in calls}
        for death in range(1, 30):
            self.release(1)
            count = 0

            def dying(name: str) -> Callable[..., Any]:
                def call(self: Path, *args: Any, **more: Any) -> Any:
                    nonlocal count
                    count += 1
                    if count == death:  # noqa: B023 - used within the round
                        raise Killed
                    return real[name](self, *args, **more)

                return call

            with monkeypatch.context() as patch:
                for name in calls:
                    patch.setattr(Path, name, dying(name))
                try:
                    self.release(2)
                    finished = True
                except Killed:
                    finished = False
            assert self.serves("digits") in ({2} if finished else {1, 2})
            self.release(2)
            assert self.serves("digits") == 2
            if finished:
                return
        pytest.fail("it never came to its end")


class TestObjectStore(ReleaseContract):
    """Any store that fsspec knows; here one in memory."""

    @pytest.fixture(autouse=True)
    def _world(self, tmp_path: Path) -> Iterator[None]:
        import fsspec

        self.root = f"memory://{tmp_path.name}"
        self.store = fsspec.filesystem("memory")
        yield
        self.store.store.clear()

    def open(self) -> ReleasePlugin:
        return FolderRelease()

    def settings(self) -> Mapping[str, Plain]:
        return {"root": self.root}

    def serves(self, model: str) -> int | None:
        home = f"/{self.root.partition('://')[2]}/{model}"
        if not self.store.exists(f"{home}/current.json"):
            return None
        version = json.loads(self.store.cat_file(f"{home}/current.json"))["version"]
        found = {
            p.removeprefix(f"{home}/{version}/"): self.store.cat_file(p) for p in self.store.find(f"{home}/{version}")
        }
        assert json.loads(found.pop("release.json"))["version"] == version
        assert found == CONTENT[version]
        return int(version)

    def out_of_reach(self) -> None:
        self.root = "nosuchscheme://x"

    def order(self, version: int, *, identity: str = ""):
        made = super().order(version, identity=identity)
        return replace(made, settings={"root": self.root})

    def test_a_target_out_of_reach_is_an_error_of_the_backend(self) -> None:
        self.out_of_reach()
        super().test_a_target_out_of_reach_is_an_error_of_the_backend()


class Server:
    """A server that takes releases."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.bodies: list[tuple[dict[str, str], bytes]] = []
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code = world.answers.pop(0) if world.answers else 200
                if code == 200:
                    world.bodies.append((dict(self.headers), body))
                self.send_response(code)
                if code in {301, 302, 307}:
                    self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/models"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


class TestWebhook(ReleaseContract):
    """A server that is told."""

    @pytest.fixture(autouse=True)
    def _world(self) -> Iterator[None]:
        self.server = Server()
        self.slept: list[float] = []
        self.environ = {"SERVING_SECRET": "geheim"}
        yield
        with contextlib.suppress(OSError):
            self.server.close()

    def open(self) -> ReleasePlugin:
        return WebhookRelease(self.slept.append, self.environ)

    def settings(self) -> Mapping[str, Plain]:
        return {"url": self.server.url, "secret_env": "SERVING_SECRET"}

    def serves(self, model: str) -> int | None:
        told: dict[str, int] = {}
        seen: set[str] = set()
        for _, body in self.server.bodies:
            message = json.loads(body)
            if message["data"]["model"] == model and message["id"] not in seen:
                told[model] = message["data"]["version"]
                seen.add(message["id"])
        return told.get(model)

    def out_of_reach(self) -> None:
        self.server.close()

    def test_a_message_is_a_cloud_event_that_the_secret_signs(self) -> None:
        self.release(1)
        headers, body = self.server.bodies[0]
        assert headers["Content-Type"].startswith("application/cloudevents+json")
        wanted = hmac.new(b"geheim", body, hashlib.sha256).hexdigest()
        assert headers[SIGNATURE] == f"sha256={wanted}" == sign(body, "geheim")
        message = json.loads(body)
        assert {k: message[k] for k in ("specversion", "id", "source", "type", "subject", "datacontenttype")} == {
            "specversion": "1.0",
            "id": "t-1",
            "source": "/trainwright/p",
            "type": "model.released",
            "subject": "models/digits/1",
            "datacontenttype": "application/json",
        }
        assert message["data"]["metrics"] == {"auc": 0.9}
        assert message["time"].endswith("Z")

    def test_a_repeated_order_is_the_same_message_to_the_byte(self) -> None:
        assert event(self.order(1)) == event(self.order(1))
        assert event(self.order(1)) != event(self.order(1, identity="t-9"))

    def test_a_server_in_trouble_is_asked_again(self) -> None:
        self.server.answers = [503, 429, 200]
        self.release(1)
        assert self.serves("digits") == 1
        assert self.slept == [0.5, 2.0]

    def test_a_server_that_says_no_is_not_asked_again(self) -> None:
        self.server.answers = [403]
        with pytest.raises(BackendError, match="HTTP 403"):
            self.release(1)
        assert self.slept == []

    def test_a_signed_message_follows_no_redirection(self) -> None:
        self.server.answers = [302]
        with pytest.raises(BackendError, match="HTTP 302"):
            self.release(1)

    def test_nothing_is_sent_without_the_secret(self) -> None:
        self.environ.clear()
        with pytest.raises(BackendError, match="SERVING_SECRET is not set"):
            self.release(1)
        assert self.server.bodies == []

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "http://", "ftp://x/y", "http:///#/../../etc", "x", "", 3])
    def test_g31_only_the_web_is_told(self, url: Plain) -> None:
        with pytest.raises(SpecError):
            self.open().check({**self.settings(), "url": url}, Path("/"))

    @pytest.mark.parametrize("variable", ["", "a b", "A=B", None, 3])
    def test_a_secret_is_never_in_the_document(self, variable: Plain) -> None:
        with pytest.raises(SpecError):
            self.open().check({**self.settings(), "secret_env": variable}, Path("/"))
