"""Data in a real object store and in real tables, as a person types it; only in ``make test-all``."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from seaweed import SECRET, Narrow, Seaweed, environment, python
from shell import Shell, ended, until

pytestmark = pytest.mark.heavy

COUNT = """\
pipeline: count
data:
  raw: datasets/clicks@latest
steps:
  count: {run: "cat ${{ data.raw }}/*.csv | wc -l > ${{ out.n }}", out: {n: value}}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Seaweed]:
    with Seaweed() as found:
        yield found


@pytest.fixture
def tw(tmp_path: Path, server: Seaweed) -> Iterator[Shell]:
    path = f"{environment() / 'bin'}:{os.environ['PATH']}"
    with Shell(tmp_path / "project", **{**server.environ, "PATH": path}) as shell:
        yield shell


def files(server: Seaweed, bucket: str, code: str) -> None:
    server.do(f"b = {bucket!r}; s3.create_bucket(Bucket=b)\n" + code)


def test_a_prefix_is_a_dataset_and_only_what_changed_comes_again(tw: Shell, server: Seaweed) -> None:
    files(server, "clicks", "for n in 'abc': s3.put_object(Bucket=b, Key=f'raw/{n}.csv', Body=n.encode() + b'\\n')")
    first = tw.run("dataset", "add", "clicks", "s3://clicks/raw/", code=0)
    assert "datasets/clicks@1" in first.out
    assert "fetched 3 of 3 file(s), 6B" in first.err
    again = tw.run("dataset", "add", "clicks", "s3://clicks/raw/", code=0)
    assert "fetched 0 of 3 file(s), 0B; 3 unchanged" in again.err
    assert "is datasets/clicks@1 already" in again.err
    tw.write("p.yaml", COUNT)
    tw.run("run", "p.yaml", code=0)
    server.do("s3.put_object(Bucket='clicks', Key='raw/b.csv', Body=b'b\\nb\\n')")
    changed = tw.run("dataset", "add", "clicks", "s3://clicks/raw/", code=0)
    assert "datasets/clicks@2" in changed.out
    assert "fetched 1 of 3 file(s), 4B; 2 unchanged" in changed.err
    tw.run("run", "p.yaml", code=0)
    assert tw.show()["steps"][0]["state"] == "succeeded"
    kept = (tw.folder / ".trainwright").rglob("*")
    assert not any(SECRET.encode() in path.read_bytes() for path in kept if path.is_file())


def test_a_wrong_key_is_one_clear_message(tw: Shell, server: Seaweed) -> None:
    said = tw.run("dataset", "add", "x", "s3://some-bucket/raw/", AWS_SECRET_ACCESS_KEY="wrong", code=1)
    assert f"error[TW6401]: 127.0.0.1:{server.port} refuses s3://some-bucket/raw/" in said.err
    assert "fix: check the credentials (AWS_ACCESS_KEY_ID" in said.err
    gone = tw.run("dataset", "add", "x", "s3://no-such-bucket/raw/", code=4)
    assert "error[TW4306]: nothing is at s3://no-such-bucket/raw/" in gone.err


def test_what_came_before_a_kill_does_not_come_again(tw: Shell, server: Seaweed) -> None:
    files(server, "large", "for n in range(12): s3.put_object(Bucket=b, Key=f'{n}.bin', Body=bytes([n]) * (1 << 20))")
    with Narrow(server.port, 10 << 20) as line:  # of 12 MiB in 8 streams: two files at least are whole
        tw.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{line.port}"
        adding = tw.start("dataset", "add", "large", "s3://large/")
        until(line.is_blocked, "the line is cut")
        known = tw.folder / ".trainwright" / "content" / "known"
        until(lambda: any(path.stat().st_size for path in known.glob("*")), "something came")
        adding.send_signal(signal.SIGKILL)
        ended(adding)
        came = next(known.glob("*")).read_text().count("bin")
        line.open()
        said = tw.run("dataset", "add", "large", "s3://large/", code=0)
    assert 0 < came < 12
    fetched = int(said.err.partition("fetched ")[2].partition(" ")[0])
    assert 0 < fetched <= 12 - came
    assert "12 file(s), 12MiB" in said.out or "12 file(s), 12Mi" in said.out
    assert "ok" in tw.run("doctor", code=0).out


def test_a_version_of_an_object_is_referred_to_and_brought_to_the_step(tw: Shell, server: Seaweed) -> None:
    files(
        server,
        "kept-versions",
        "s3.put_bucket_versioning(Bucket=b, VersioningConfiguration={'Status': 'Enabled'})\n"
        "for i in range(2): s3.put_object(Bucket=b, Key='x.csv', Body=b'%d' % i)\n",
    )
    listed = server.do("print([v['VersionId'] for v in s3.list_object_versions(Bucket='kept-versions')['Versions']])")
    newest, oldest = eval(listed)
    said = tw.run("dataset", "add", "x", "s3://kept-versions/x.csv", "--reference", code=0)
    assert f"by reference: s3://kept-versions/x.csv?versionId={newest}" in said.out
    assert "nothing is copied" in said.err
    tw.write(
        "p.yaml",
        f"""\
        pipeline: p
        data: {{raw: datasets/x, old: "s3://kept-versions/x.csv?versionId={oldest}"}}
        steps:
          a: {{run: 'echo "$(cat ${{{{ data.raw }}}}) $(cat ${{{{ data.old }}}}) $TW_DATA_OLD_VERSION"'}}
        """.replace("{{{{", "{{").replace("}}}}", "}}"),
    )
    tw.run("run", "p.yaml", code=0)
    assert f"1 0 {oldest}" in tw.run("logs", "-1/a", code=0).out
    server.do(f"s3.delete_object(Bucket='kept-versions', Key='x.csv', VersionId={newest!r})")
    tw.shell("chmod -R u+w .trainwright/content/trees; rm -rf .trainwright/content/trees")
    gone = tw.run("run", "p.yaml", code=1)
    assert f"the snapshot s3://kept-versions/x.csv?versionId={newest} is gone" in gone.out + gone.err


TABLES = """\
import trainwright as tw


def look(raw: tw.Dataset) -> dict:
    rows = raw.arrow().num_rows
    print(f"{rows} rows of {raw.uri}, version {raw.version}")
    return {"rows": rows}
"""

LOOK = """\
pipeline: look
data: {raw: datasets/t@1}
steps:
  look: {call: "tables:look", with: {raw: data.raw}, out: {seen: value}}
"""


def test_a_delta_table_is_read_at_its_version_until_it_is_vacuumed(tw: Shell) -> None:
    append = "from deltalake import *; import pyarrow as pa; t = pa.table({'x': [1, 2]})\n"
    here = str(tw.folder / "t")
    python("-c", append + f"write_deltalake({here!r}, t)")
    assert f"by reference: delta:{here}?version=0" in tw.run("dataset", "add", "t", "delta:t", code=0).out
    python("-c", append + f"write_deltalake({here!r}, t.slice(1), mode='overwrite')")
    assert "datasets/t@2" in tw.run("dataset", "add", "t", "delta:t", code=0).out
    tw.write("tables.py", TABLES)
    tw.write("p.yaml", LOOK)
    tw.run("run", "p.yaml", code=0)
    assert f"2 rows of delta:{here}?version=0, version 0" in tw.run("logs", "-1/look", code=0).out
    vacuum = "DeltaTable({!r}).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)"
    python("-c", append + vacuum.format(here))
    tw.run("run", "p.yaml", "--cache", "off", code=1)
    said = tw.run("logs", "-1/look", code=0).out
    assert f"version 0 of the table {here} cannot be read any more" in said


def test_a_delta_table_in_the_object_store_is_handed_over_as_its_uri(tw: Shell, server: Seaweed) -> None:
    files(server, "tables", "")
    write = "from deltalake import *; import pyarrow as pa; "
    options = "storage_options={'AWS_ALLOW_HTTP': 'true'}"
    python("-c", write + f"write_deltalake('s3://tables/t', pa.table({{'x': [1, 2]}}), {options})", **server.environ)
    tw.run("dataset", "add", "t", "delta+s3://tables/t", code=0)
    tw.write("tables.py", TABLES)
    tw.write("p.yaml", LOOK + '  shell: {run: "echo ${{ data.raw }} $TW_DATA_RAW_VERSION"}\n')
    tw.run("run", "p.yaml", code=0)
    assert "s3://tables/t 0" in tw.run("logs", "-1/shell", code=0).out


def test_an_iceberg_table_of_a_catalog_is_read_at_its_snapshot(tw: Shell) -> None:
    here = tw.folder
    catalog = (
        "from pyiceberg.catalog.sql import SqlCatalog; import pyarrow as pa\n"
        f"c = SqlCatalog('lake', uri='sqlite:///{here}/c.db', warehouse='file://{here}')\n"
    )
    rows = "t.append(pa.table({'x': [1, 2, 3]}))\n"
    make = "c.create_namespace('ns'); t = c.create_table('ns.t', schema=pa.schema([('x', pa.int64())]))\n"
    python("-c", catalog + make + rows)
    by_folder = tw.run("dataset", "add", "t", "iceberg:ns/t", code=0).out
    tw.environ |= {"PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{here}/c.db", "PYICEBERG_CATALOG__LAKE__TYPE": "sql"}
    by_name = tw.run("dataset", "add", "named", "iceberg://lake/ns.t", code=0).out
    assert by_folder.split("snapshot=")[1].strip() == by_name.split("snapshot=")[1].strip()
    python("-c", catalog + "t = c.load_table('ns.t')\n" + rows)
    tw.write("tables.py", TABLES)
    for name in ("t@1", "named"):
        tw.write("p.yaml", LOOK.replace("t@1", name))
        tw.run("run", "p.yaml", code=0)
        assert "3 rows of iceberg:" in tw.run("logs", "-1/look", code=0).out


def test_a_revision_of_the_hub_is_brought_to_the_step(tw: Shell) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
    from source_labs import FakeHub

    hub = FakeHub()  # a fake: the real one is not asked
    sha = hub.commit({"data/a.csv": b"1\n", "README.md": b"# a\n"})
    env = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tw.folder / "hf"), "HF_HUB_DISABLE_XET": "1"}
    tw.environ.update(env)
    said = tw.run("dataset", "add", "x", "hf://datasets/org/name", code=0)
    assert f"by reference: hf://datasets/org/name@{sha}" in said.out
    hub.commit({"data/a.csv": b"2\n"})
    tw.write(
        "p.yaml",
        "pipeline: p\ndata: {raw: datasets/x, one: hf://datasets/org/name/data/a.csv}\n"
        "steps:\n  a: {run: 'cat ${{ data.raw }}/data/a.csv ${{ data.one }}; ls ${{ data.raw }}'}\n",
    )
    tw.run("run", "p.yaml", code=0)
    assert tw.run("logs", "-1/a", code=0).out.split() == ["1", "2", "README.md", "data"]
    missing = tw.run("dataset", "add", "x", "hf://datasets/org/name@nothing", code=4)
    assert "error[TW4307]: the dataset org/name has no revision nothing" in missing.err
    hub.close()
