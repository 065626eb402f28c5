"""G31: names and addresses lead nowhere outside the project."""

import pytest
from shell import Shell

SECRET = "c4n4ry-0f-the-c0al-mine"


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    base = tmp_path_factory.mktemp("paths")
    (base / "canary").write_text(SECRET)
    with Shell(base / "p") as shell:
        shell.write("good.yaml", "pipeline: good\nsteps: {a: {run: 'echo x > ${{ out.f }}', out: {f: file}}}\n")
        shell.run("run", "good.yaml", code=0)
        yield shell


def snapshot(tw):
    """Return every file around the project, but not what is in it."""
    base = tw.folder.parent
    return {p: p.read_bytes() for p in base.rglob("*") if p.is_file() and not p.is_relative_to(tw.folder)
            and "-machine" not in str(p)}  # fmt: skip


ADDRESSES = (
    "../../canary",
    "/etc/passwd",
    "good/../../../canary",
    "..%2f..%2fcanary",
    "..\\..\\canary",
    "good/a/../..",
    "runs/../canary",
    "runs://../../canary",
    "file:///etc/passwd",
    "http:///#/../../canary",
    "-1/../../canary",
    "good/a/1/../../../../canary",
    "%",
    "*",
    "' OR 1=1 --",
    "r%",
)


@pytest.mark.slow
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_reads_outside(tw, address):
    before = snapshot(tw)
    others = (("show",), ("why",), ("metrics",), ("lineage",), ("model", "ls"))
    for verb in (("logs",), others[ADDRESSES.index(address) % len(others)]):
        said = tw.run(*verb, "--", address)
        assert said.code in {2, 4}, said
        assert SECRET not in said.out + said.err
        assert "root:" not in said.out + said.err
    assert snapshot(tw) == before


NAMES = ("../x", "/abs", "a/../../b", "..", "a\\0b", "~", "a\\nb", "..\\\\x", "CON:", "a b")


@pytest.mark.parametrize("name", NAMES)
def test_no_name_in_a_file_can_be_a_path(tw, name):
    before = snapshot(tw)
    bodies = (
        f'pipeline: "{name}"\nsteps: {{a: {{run: "true"}}}}\n',
        f'pipeline: p\nsteps: {{"{name}": {{run: "true"}}}}\n',
        f'pipeline: p\nsteps: {{a: {{run: "true", out: {{"{name}": file}}}}}}\n',
        f'pipeline: p\nparams: {{"{name}": 1}}\nsteps: {{a: {{run: "true"}}}}\n',
        f'pipeline: p\ndata: {{"{name}": good.yaml}}\nsteps: {{a: {{run: "true"}}}}\n',
    )
    place = NAMES.index(name)
    for body in bodies if place == 0 else bodies[place % len(bodies) :][:1]:
        tw.write("evil.yaml", body)
        said = tw.run("run", "evil.yaml", code=2)
        assert "TW1" in said.err
        assert "\0" not in said.err
    assert snapshot(tw) == before


@pytest.mark.parametrize("target", ["../canary", "../../../../../../etc/passwd", "/etc/passwd"])
def test_a_link_in_a_dataset_that_leads_outside_is_refused(tw, target):
    folder = tw.folder / f"data{len(target)}"
    folder.mkdir()
    (folder / "a.csv").write_text("1\n")
    (folder / "link").symlink_to(target if target[0] == "/" else "../" + target)
    said = tw.run("dataset", "add", "linked", folder.name)
    assert said.code != 0
    assert "link leads out of" in said.err
    assert SECRET not in said.out + said.err
    assert tw.run("dataset", "ls", "linked").code == 4
    (folder / "link").unlink()
    (folder / "link").symlink_to("a.csv")
    tw.run("dataset", "add", f"inside{len(target)}", folder.name, code=0)


def test_an_output_that_is_a_link_outside_is_not_published(tw):
    tw.write("link.yaml", "pipeline: link\nsteps: {a: {run: 'ln -s ${{ params.to }} ${{ out.f }}', out: {f: file}}}\n"
                          f"params: {{to: {tw.folder.parent}/canary}}\n")  # fmt: skip
    said = tw.run("run", "link.yaml", code=1)
    assert "is a link to" in said.out
    assert tw.show()["outputs"] == []
    content = tw.folder / ".trainwright" / "content"
    assert not [p for p in content.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]


def test_a_step_that_writes_into_its_inputs_does_not_change_what_is_stored(tw):
    tw.write("in/a.csv", "1\n")
    tw.write("write.yaml", """\
        pipeline: write
        data: {raw: in}
        steps:
          a: {run: 'echo changed > ${{ data.raw }}/a.csv || true'}
          b: {run: 'cat ${{ data.raw }}/a.csv', depends_on: [a]}
        """)  # fmt: skip
    tw.run("run", "write.yaml", code=0)
    assert tw.run("logs", "-1/b").out == "1\n"
    assert (tw.folder / "in" / "a.csv").read_text() == "1\n"
