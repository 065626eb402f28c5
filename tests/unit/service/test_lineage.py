"""One graph, both ways: nothing is merged that is not the same thing, nothing is lost that came of another."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ancestry import Did, add_dataset, add_model, add_run, move_alias, output_of
from build import content, context
from trainwright.core.errors import NotFoundError
from trainwright.core.ids import Digest
from trainwright.core.lineage import Lineage, NodeKind, distances, within_depth
from trainwright.core.release import Release, ReleaseState
from trainwright.service.context import Context
from trainwright.service.lineage import downstream, upstream
from trainwright.store import releases


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    made = context(tmp_path)
    yield made
    made.database.close()


def two_steps(world: Context, name: str, data: str, bytes_: str, *, origin: str = "") -> None:
    """A run that reads data, makes a table and from it a model."""
    hit = (f"{origin}/prep/1", f"{origin}/train/1") if origin else ("", "")
    add_run(
        world,
        name,
        [
            Did("prep", {data: content(bytes_)}, {"table": "t"}, hit[0]),
            Did("train", output_of(name, "prep", "table", "t"), {"model": "w"}, hit[1]),
        ],
    )


def addresses(found: Lineage, kind: NodeKind) -> list[str]:
    return sorted(node.address for node in found.nodes if node.kind is kind)


def test_a_model_leads_back_to_the_raw_source_through_every_kind_of_thing(world: Context) -> None:
    add_dataset(world, "d", 1, "x", "s3://bucket/raw")
    two_steps(world, "a", "datasets/d@1", "x")
    add_model(world, "a", 1, "candidate")
    found = upstream(world, "models/m@candidate")
    assert [(node.kind.value, node.address) for node in found.nodes] == [
        ("alias", "models/m@candidate"),
        ("model", "models/m/1"),
        ("artifact", "runs:/a/train/model"),
        ("attempt", "runs:/a/train/1"),
        ("artifact", "runs:/a/prep/table"),
        ("attempt", "runs:/a/prep/1"),
        ("dataset", "datasets/d@1"),
        ("source", "s3://bucket/raw"),
    ]
    facets = found.node("runs:/a/train/1").facets
    assert (facets.by, facets.number, facets.state) == ("ada", 1, "succeeded")
    assert facets.code is not None
    assert facets.code.commit == "c" * 40
    assert facets.params.startswith("sha256:")


def test_forward_from_the_source_is_the_same_way(world: Context) -> None:
    add_dataset(world, "d", 1, "x", "s3://bucket/raw")
    two_steps(world, "a", "datasets/d@1", "x")
    add_model(world, "a", 1, "candidate")
    up, down = upstream(world, "models/m@candidate"), downstream(world, "s3://bucket/raw")
    assert {node.address for node in up.nodes} == {node.address for node in down.nodes}
    assert set(up.edges) == set(down.edges)
    assert down.impact is not None
    assert (down.impact.runs, down.impact.attempts, down.impact.versions) == (1, 2, 1)
    assert (down.impact.models, down.impact.aliases) == (("m",), ("models/m@candidate",))


def test_an_alias_counts_only_while_it_points_there(world: Context) -> None:
    add_dataset(world, "d", 1, "x")
    two_steps(world, "a", "datasets/d@1", "x")
    two_steps(world, "b", "/other", "y")
    add_model(world, "a", 1, "production")
    add_model(world, "b", 2)
    move_alias(world, "production", 2, "better")
    before, after = downstream(world, "datasets/d@1"), downstream(world, "/other")
    assert before.impact is not None
    assert before.impact.aliases == ()
    assert after.impact is not None
    assert after.impact.aliases == ("models/m@production",)
    facets = after.node("models/m@production").facets
    assert (facets.by, facets.reason) == ("bob", "better")


def test_versions_of_equal_content_under_two_names_stay_two_things(world: Context) -> None:
    add_dataset(world, "d", 1, "x")
    add_dataset(world, "e", 4, "x", "/elsewhere")
    two_steps(world, "a", "datasets/d@1", "x")
    two_steps(world, "b", "datasets/e@4", "x")
    found = downstream(world, "datasets/d@1")
    assert addresses(found, NodeKind.ATTEMPT) == ["runs:/a/prep/1", "runs:/a/train/1"]
    assert found.node("datasets/d@1").facets.same_content == ("datasets/e@4",)
    assert addresses(upstream(world, "runs/b/train"), NodeKind.SOURCE) == ["/elsewhere"]


def test_outputs_of_equal_content_stay_two_things_and_say_so(world: Context) -> None:
    two_steps(world, "a", "/one", "x")
    two_steps(world, "b", "/two", "y")
    add_model(world, "b", 1)
    found = upstream(world, "models/m/1")
    assert addresses(found, NodeKind.SOURCE) == ["/two"]
    assert found.node("runs:/b/train/model").facets.equal_outputs == 1
    assert downstream(world, "runs/a/train/model").impact == downstream(world, "runs/a/train").impact
    assert downstream(world, "/one").impact.models == ()  # type: ignore[union-attr]


def test_what_was_reused_leads_to_who_really_made_it(world: Context) -> None:
    add_dataset(world, "d", 1, "x")
    add_dataset(world, "e", 1, "x", "/elsewhere")
    two_steps(world, "a", "datasets/d@1", "x")
    two_steps(world, "b", "datasets/e@1", "x", origin="a")
    add_model(world, "b", 1, "candidate")
    found = upstream(world, "models/m/1")
    assert found.node("runs:/b/train/1").facets.reused_from == "runs:/a/train/1"
    assert ("runs:/a/train/1", "runs:/b/train/1", "reused") in {(e.before, e.after, e.name) for e in found.edges}
    assert addresses(found, NodeKind.DATASET) == ["datasets/d@1", "datasets/e@1"]
    for address in ("datasets/d@1", "datasets/e@1", "runs/a/train", "runs/a/train/model"):
        down = downstream(world, address)
        assert down.impact is not None
        assert down.impact.aliases == ("models/m@candidate",), address
        assert "models/m/1" in down.by_address(), address


def test_a_run_that_was_removed_leaves_a_node_where_it_was(world: Context) -> None:
    two_steps(world, "b", "/raw", "x", origin="gone")
    found = upstream(world, "runs/b/train/model")
    assert found.node("runs:/gone/train/1").note == "its run was removed"


def test_what_a_later_attempt_replaced_has_an_address_of_its_own(world: Context) -> None:
    tries = [Did("train", {"/raw": content("x")}, {"model": f"w{n}"}, number=n) for n in (1, 2)]
    judged = Did("judge", output_of("a", "train", "model", "w1"))
    add_run(world, "a", [*tries, judged])
    assert "runs:/a/train/1/model" in upstream(world, "runs/a/judge").by_address()
    assert addresses(downstream(world, "runs/a/train/1/model"), NodeKind.ATTEMPT) == ["runs:/a/judge/1"]
    assert addresses(downstream(world, "runs/a/train/model"), NodeKind.ATTEMPT) == []
    assert downstream(world, "runs/a/train/1").impact.runs == 1  # type: ignore[union-attr]


def test_the_graph_is_cut_and_the_count_is_not(world: Context) -> None:
    add_dataset(world, "d", 1, "x")
    for number in range(30):
        two_steps(world, f"r{number}", "datasets/d@1", "x")
    found = downstream(world, "datasets/d@1", most_runs=5)
    assert found.omitted_runs == 25
    assert found.impact is not None
    assert (found.impact.runs, found.impact.attempts) == (30, 60)
    assert addresses(found, NodeKind.ATTEMPT) == sorted(
        f"runs:/r{n}/{s}/1" for n in range(25, 30) for s in ("prep", "train")
    )


def test_depth_cuts_by_distance(world: Context) -> None:
    two_steps(world, "a", "/raw", "x")
    found = upstream(world, "runs/a/train/model")
    assert set(distances(within_depth(found, 2)).values()) == {0, 1, 2}
    assert len(within_depth(found, 100).nodes) == len(found.nodes)


def stored(world: Context, name: str, **files: str) -> None:
    from trainwright.service.datasets import add

    folder = world.here / name
    folder.mkdir()
    for file, text in files.items():
        (folder / f"{file}.csv").write_text(text)
    add(world, name, name)


def test_a_slice_lies_between_its_version_and_its_readers(world: Context) -> None:
    stored(world, "d", a="1\n", b="2\n")
    add_run(world, "a", [Did("train", {"datasets/d@1#path=a.csv": content("part")}, {"model": "w"})])
    for found in (downstream(world, "datasets/d@1"), upstream(world, "runs/a/train")):
        assert [e.after for e in found.edges if e.before == "datasets/d@1"] == ["datasets/d@1#path=a.csv"]
    assert addresses(downstream(world, "datasets/d#path=a.csv"), NodeKind.ATTEMPT) == ["runs:/a/train/1"]
    assert addresses(downstream(world, "datasets/d@1#path=b.csv"), NodeKind.ATTEMPT) == []
    assert addresses(upstream(world, "datasets/d@1#path=b.csv"), NodeKind.SOURCE) == [str(world.here / "d")]


def test_a_file_is_followed_by_its_bytes_into_every_version_that_holds_it(world: Context) -> None:
    stored(world, "one", a="1\n", b="2\n")
    stored(world, "two", c="1\n")
    stored(world, "three", d="9\n")
    for name, data in (("x", "one"), ("y", "two"), ("z", "three")):
        two_steps(world, name, f"datasets/{data}@1", data)
    add_model(world, "y", 1, "candidate")
    sha = downstream(world, "datasets/one@1/a.csv").node("datasets/one@1/a.csv").digest
    for asked in ("datasets/one@1/a.csv", "datasets/two@1/c.csv", sha, "one/a.csv"):
        found = downstream(world, asked)
        assert addresses(found, NodeKind.DATASET) == ["datasets/one@1", "datasets/two@1"], asked
        assert found.impact is not None
        assert (found.impact.runs, found.impact.aliases) == (2, ("models/m@candidate",))
    names = {e.after: e.name for e in downstream(world, sha).edges if e.before == sha}
    assert names == {"datasets/one@1": "a.csv", "datasets/two@1": "c.csv"}
    assert addresses(upstream(world, sha), NodeKind.SOURCE) == [str(world.here / "one"), str(world.here / "two")]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("datasets/one@1/none.csv", "TW4111"),
        ("sha256:" + "0" * 64, "TW4112"),
        ("other.csv", "TW4112"),
        ("no/such/thing", "TW4113"),
        ("s3://bucket/none", "TW4113"),
        ("one@x", "TW4102"),
    ],
)
def test_what_nobody_knows_is_said(world: Context, asked: str, code: str) -> None:
    stored(world, "one", a="1\n")
    (world.here / "other.csv").write_text("unknown\n")
    with pytest.raises(NotFoundError) as caught:
        downstream(world, asked)
    assert caught.value.problem.code == code
    assert caught.value.problem.remedy


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, list[Did]]]:
    """Runs of a few steps that read data and one another, and reuse what runs before them made."""
    runs: list[tuple[str, list[Did]]] = []
    for number in range(draw(st.integers(1, 4))):
        name, did = f"r{number}", list[Did]()
        for place in range(draw(st.integers(1, 4))):
            data = draw(st.sets(st.sampled_from(["datasets/d@1", "datasets/e@1", "/raw"]), max_size=2))
            reads = {address: content("x") for address in sorted(data)}
            for before in did:
                if draw(st.booleans()):
                    reads |= output_of(name, before.step, "out", before.made["out"])
            made = draw(st.sampled_from(["p", "q"]))
            older = [f"{r}/{d.step}/1" for r, all_ in runs for d in all_ if d.made["out"] == made]
            origin = draw(st.sampled_from(["", *older])) if older else ""
            did.append(Did(f"s{place}", reads, {"out": made}, origin))
        runs.append((name, did))
    return runs


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories())
def test_up_and_down_are_one_graph(tmp_path_factory: pytest.TempPathFactory, history: object) -> None:
    world = context(tmp_path_factory.mktemp("world"))
    add_dataset(world, "d", 1, "x", "/d")
    add_dataset(world, "e", 1, "x", "/e")
    attempts = []
    for name, did in history:  # type: ignore[attr-defined]
        add_run(world, name, did)
        attempts += [f"runs:/{name}/{d.step}/1" for d in did]
    behind = {a: {n.address for n in upstream(world, a).nodes} for a in attempts}
    for beginning in [*attempts, "datasets/d@1", "datasets/e@1"]:
        down = downstream(world, beginning)
        found = {a for a in attempts if a in down.by_address()}
        assert found - {beginning} == {a for a in attempts if beginning in behind[a]} - {beginning}
    world.database.close()


def test_data_leads_forward_to_the_releases_that_serve_its_models(world: Context) -> None:
    add_dataset(world, "d", 1, "x", "s3://bucket/raw")
    two_steps(world, "a", "datasets/d@1", "x")
    add_model(world, "a", 1, "production")
    now = world.clock.now()
    with world.database.writing() as rows:
        for number, state in ((1, ReleaseState.ROLLED_BACK), (2, ReleaseState.RELEASED), (3, ReleaseState.FAILED)):
            made = Release(
                "shop", number, "m", 1, Digest("sha256:ab"), "m", state, None, "", "/srv", "", now, "ada", now
            )
            releases.insert(rows, world.project, made)
    found = downstream(world, "datasets/d@1")
    assert addresses(found, NodeKind.RELEASE) == ["releases/shop/2"]
