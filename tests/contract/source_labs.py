"""A place for each data source to read from; without pytest, since some are filled in an environment of their own."""

import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from trainwright.plugins.sources.delta import DeltaSource
from trainwright.plugins.sources.file import FileSource
from trainwright.plugins.sources.git import GitSource
from trainwright.plugins.sources.hf import HubSource
from trainwright.plugins.sources.iceberg import IcebergSource
from trainwright.plugins.sources.object import ObjectSource
from trainwright.plugins.sources.pkg import PackageSource
from trainwright.plugins.sources.web import WebSource
from trainwright.plugins.stores.local import LocalContent
from trainwright.ports.source import DataSource, FileSet, Located, RemoteFiles, Snapshot

DEAD = "127.0.0.1:9"  # the discard port: nobody listens


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@dataclass
class Lab:
    """See ``ports.testing.source.SourceLab``."""

    base: Path
    source: DataSource = field(default_factory=FileSource)
    uri: str = ""
    missing: str = ""
    relative: str = ""
    unreachable: str = ""
    host: str = ""

    def fill(self, files: Mapping[str, bytes]) -> None:
        write(self.base / "data", files)

    def digest(self, located: Located) -> str:
        content = LocalContent(self.base / "store")
        match located:
            case Snapshot():
                return content.put_snapshot(located).digest
            case RemoteFiles():
                return content.receive(located, lambda _: None).digest
            case FileSet(root, paths):
                return content.put_files(root, paths).digest
            case Path():
                return content.put(located).digest

    def close(self) -> None:
        """Nothing is left open."""


class FileLab(Lab):
    def __init__(self, base: Path) -> None:
        super().__init__(base, uri=f"file://{base}/data", missing="file:nothing", relative="data")


class PatternLab(Lab):
    def __init__(self, base: Path) -> None:
        super().__init__(base, uri=f"{base}/data/**/*.csv", missing="data/*.parquet", relative="file:data/**/*.csv")


class PackageLab(Lab):
    def __init__(self, base: Path) -> None:
        super().__init__(base, PackageSource(), "pkg://twlab/data", "pkg://twlab/nothing")
        (base / "twlab").mkdir()
        (base / "twlab/__init__.py").touch()

    def fill(self, files: Mapping[str, bytes]) -> None:
        write(self.base / "twlab/data", files)


class MemoryLab(Lab):
    """fsspec's own file system in memory."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, ObjectSource(), "memory://lab/data/", "memory://lab/nothing")

    def fill(self, files: Mapping[str, bytes]) -> None:
        import fsspec

        fs = fsspec.filesystem("memory")
        if fs.exists("/lab"):
            fs.rm("/lab", recursive=True)
        for name, data in files.items():
            fs.pipe_file(f"/lab/data/{name}", data)


class StoreLab(Lab):
    """A bucket of the S3 server that the environment names; the dead one is asked by another endpoint."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, ObjectSource(), "s3://lab-bucket/data/**", "s3://lab-bucket/nothing/")
        import boto3

        self.client: Any = boto3.client("s3")
        self.bucket("lab-bucket")

    def bucket(self, name: str) -> None:
        if name not in {found["Name"] for found in self.client.list_buckets()["Buckets"]}:
            self.client.create_bucket(Bucket=name)

    def fill(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self.client.put_object(Bucket="lab-bucket", Key=f"data/{name}", Body=data)


class VersionLab(StoreLab):
    """One object of a bucket that keeps versions, referred to."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.source = _Referring()
        self.uri, self.missing = "s3://lab-versions/data.json", "s3://lab-versions/data.json?versionId=nothing"
        self.bucket("lab-versions")
        self.client.put_bucket_versioning(Bucket="lab-versions", VersioningConfiguration={"Status": "Enabled"})

    def fill(self, files: Mapping[str, bytes]) -> None:
        text = json.dumps({name: data.decode() for name, data in sorted(files.items())})
        self.client.put_object(Bucket="lab-versions", Key="data.json", Body=text.encode())


class _Referring:
    schemes = ObjectSource.schemes

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Located:
        return ObjectSource().locate(uri, base, reference=True)


class GitLab(Lab):
    def __init__(self, base: Path) -> None:
        dead = f"git+http://{DEAD}/x/y@main"
        here = f"git+file://{base}/data@main#deep"
        super().__init__(base, GitSource(), here, "git+file:data@nothing", "git+file:data#deep", dead, DEAD)
        (base / "data").mkdir()
        self._git("init", "--quiet", "--initial-branch=main")

    def fill(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            path = self.base / "data" / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        self._git("add", "-A")
        self._git("commit", "--quiet", "--allow-empty", "-m", "data")

    def _git(self, *words: str) -> None:
        person = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(("git", *person, *words), cwd=self.base / "data", check=True, capture_output=True)


class WebLab(Lab):
    """A server of one file, with its ETag."""

    def __init__(self, base: Path) -> None:
        self.body = b""
        self.gets = 0
        lab = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                lab.gets += self.command == "GET"
                there = self.path.startswith("/data.json")
                body = lab.body if there else b""
                self.send_response(200 if there else 404)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"')
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 - as http.server calls it

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self.server = serve(Handler)
        at = f"http://127.0.0.1:{self.server.server_port}"
        super().__init__(base, WebSource(), f"{at}/data.json", f"{at}/nothing", "", f"http://{DEAD}/data.json", DEAD)

    def fill(self, files: Mapping[str, bytes]) -> None:
        self.body = json.dumps({name: data.decode() for name, data in sorted(files.items())}).encode()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class DeltaLab(Lab):
    def __init__(self, base: Path) -> None:
        super().__init__(base, DeltaSource(), f"delta:{base}/data", "delta:data?version=999", "delta:data")

    def fill(self, files: Mapping[str, bytes]) -> None:
        from deltalake import write_deltalake

        write_deltalake(str(self.base / "data"), table(files), mode="overwrite")


class IcebergLab(Lab):
    """A table that pyiceberg's catalog in SQLite made, read by its folder."""

    def __init__(self, base: Path) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        self.catalog = SqlCatalog("lab", uri=f"sqlite:///{base}/catalog.db", warehouse=f"file://{base}")
        self.catalog.create_namespace("lab")
        here = f"iceberg:{base}/lab/data"
        super().__init__(base, IcebergSource(), here, f"{here}?snapshot=7", "iceberg:lab/data")

    def fill(self, files: Mapping[str, bytes]) -> None:
        rows = table(files)
        if not self.catalog.table_exists("lab.data"):
            self.catalog.create_table("lab.data", schema=rows.schema)
        self.catalog.load_table("lab.data").overwrite(rows)


def table(files: Mapping[str, bytes]) -> Any:
    import pyarrow as pa

    return pa.table({"name": sorted(files), "text": [files[name].decode() for name in sorted(files)]})


class HubLab(Lab):
    """Against a fake of the Hub, one a process: the library looks where it is only once."""

    def __init__(self, base: Path) -> None:
        self.hub = _hub()
        os.environ["HF_ENDPOINT"] = self.hub.endpoint
        uri, missing = "hf://datasets/org/name@main", "hf://datasets/org/name@nothing"
        super().__init__(base, HubSource(), uri, missing)

    def fill(self, files: Mapping[str, bytes]) -> None:
        self.hub.commit(files)


@cache
def _hub() -> "FakeHub":
    return FakeHub()


class FakeHub:
    """A FAKE of Hugging Face's Hub: the two calls that ``dataset_info`` and ``snapshot_download`` make.

    Every commit stays; ``main`` is the newest. Written after the answers of the real one, with fewer fields.
    """

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, bytes]] = {}
        self.main = ""
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.asked.append(f"{self.command} {self.path}")
                code, headers, body = hub.answer(self.path.partition("?")[0])
                self.send_response(code)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 - as http.server calls it

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self.server = serve(Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def commit(self, files: Mapping[str, bytes]) -> str:
        text = json.dumps({name: data.decode() for name, data in sorted(files.items())}) + self.main
        self.main = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        self.commits[self.main] = dict(files)
        return self.main

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        api, resolve = "/api/datasets/org/name/", "/datasets/org/name/resolve/"
        if path.startswith(api):
            kind, _, revision = path[len(api) :].partition("/")
            sha = self.main if revision == "main" else revision
            if sha not in self.commits:
                return 404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": f"Invalid rev id: {revision}"}, b""
            files = self.commits[sha]
            if kind == "tree":
                listed = [_tree_entry(name, data) for name, data in sorted(files.items())]
                return 200, {"Content-Type": "application/json"}, json.dumps(listed).encode()
            names = [{"rfilename": name} for name in sorted(files)]
            info = {"_id": "1", "id": "org/name", "sha": sha, "siblings": names, "tags": [], "private": False}
            return 200, {"Content-Type": "application/json"}, json.dumps(info).encode()
        if path.startswith(resolve):
            sha, _, name = path[len(resolve) :].partition("/")
            if name in self.commits.get(sha, {}):
                data = self.commits[sha][name]
                return 200, {"ETag": f'"{_oid(data)}"', "X-Repo-Commit": sha}, data
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        return 404, {"X-Error-Code": "RepoNotFound"}, b""

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def _oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _tree_entry(name: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": name, "size": len(data), "oid": _oid(data)}


def serve(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


LIGHT = {"file": FileLab, "pattern": PatternLab, "pkg": PackageLab, "memory": MemoryLab, "git": GitLab, "web": WebLab}
HEAVY = {"s3": StoreLab, "s3-version": VersionLab, "delta": DeltaLab, "iceberg": IcebergLab, "hf": HubLab}
