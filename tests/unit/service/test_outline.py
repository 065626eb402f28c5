"""Steps as people read them: order, counts, what is left out, causes, pages, words about groups."""

from collections.abc import Mapping

from compiled import BAD, played
from trainwright.core.codec import canonical_json
from trainwright.core.ids import StepName
from trainwright.service.outline import MOST, Outline, page_of
from trainwright.service.why import explain_run, explain_step

FIT = {
    "./fit.yaml": """\
pipeline: fit
steps:
  train: {run: 'true', on_fail: {run: 'true'}}
  judge: {run: 'true', depends_on: train, check: 'x >= 1', on_fail: {run: 'true'}}
"""
}


def text(count: int, more: str = "") -> str:
    return f"pipeline: p\nsteps:\n  e: {{for_each: {list(range(count))}, run: 'true'{more}}}\n  f: {{run: 'true'}}\n"


def lines(outline: Outline, most: int = MOST) -> list[str]:
    return [
        f"{'  ' * line.depth}{line.step.name if line.step else f'… {line.rest} of {line.group}'}"
        for line in outline.lines(most=most)
    ]


def failing(*names: str) -> Mapping[str, Mapping[str, object]]:
    return dict.fromkeys(names, BAD)


def test_members_stand_below_their_group_in_the_order_of_their_numbers() -> None:
    run = played(text(12)).to_the_end()
    assert lines(Outline(run.now_is, run.plan)) == ["e", *(f"  e.{n}" for n in range(12)), "f"]


def test_of_a_large_group_those_that_failed_come_first_then_those_that_run_and_the_rest_is_counted() -> None:
    run = played(text(MOST + 10, ", parallel: 5"), failing("e.3", "e.1")).place_all().end_all().place_all()
    outline = Outline(run.now_is, run.plan)
    running = [f"  e.{n}" for n in range(5, 10)]
    assert lines(outline) == ["e", "  e.1", "  e.3", *running, f"  … {MOST + 3} of e", "f"]
    assert outline.count(run.now_is.step(StepName("e"))) == "3/30 ✓ 2 ✗"
    assert len(lines(outline, most=100)) == MOST + 10 + 2


def test_what_would_have_followed_a_failure_is_left_out_and_counts_for_nothing() -> None:
    files = "pipeline: p\nsteps: {a: {uses: ./fit.yaml}}\n"
    run = played(files, files=FIT).to_the_end()
    outline = Outline(run.now_is, run.plan)
    assert lines(outline) == ["a", "  a.train", "  a.judge"]
    assert outline.count(run.now_is.step(StepName("a"))) == "2/2 ✓"
    broken = played(files, failing("a.train"), files=FIT).to_the_end()
    outline = Outline(broken.now_is, broken.plan)
    assert lines(outline) == ["a", "  a.train", "  a.train.on_fail", "  a.judge"]
    assert outline.count(broken.now_is.step(StepName("a"))) == "1/3 ✓ 1 ✗ 1 -"
    assert [s.name for s in outline.causes()] == ["a.train"]


def test_the_cause_of_a_loop_is_its_last_round_or_that_it_came_to_no_end() -> None:
    loop = "pipeline: p\nsteps: {g: {uses: ./fit.yaml, loop: {max_rounds: 2, until: judge.passed}}}\n"
    exhausted = played(loop, {"g.0.judge": {"metrics": {"x": 0}}, "g.1.judge": {"metrics": {"x": 0}}}, files=FIT)
    run = exhausted.to_the_end()
    assert [s.name for s in Outline(run.now_is, run.plan).causes()] == ["g"]
    broken = played(loop, {"g.0.judge": {"metrics": {"x": 0}}, "g.1.train": BAD}, files=FIT).to_the_end()
    outline = Outline(broken.now_is, broken.plan)
    assert [s.name for s in outline.causes()] == ["g.1.train"]
    assert outline.count(broken.now_is.step(StepName("g"))) == "2/2 ↻"


def test_the_causes_of_a_group_are_its_members_and_a_list_that_is_none_is_its_own_cause() -> None:
    run = played(text(4), failing("e.3", "e.1")).to_the_end()
    assert [s.name for s in Outline(run.now_is, run.plan).causes()] == ["e.1", "e.3"]
    listed = """\
    pipeline: p
    steps:
      list: {run: 'true ${{ out.list }}', out: {list: value}}
      e: {for_each: list.list, run: 'true'}
    """
    bad = played(listed, lists={"e": 3}).to_the_end()
    assert [s.name for s in Outline(bad.now_is, bad.plan).causes()] == ["e"]


def test_a_page_of_a_large_run_is_small_and_all_pages_together_are_all_steps() -> None:
    items = [{"about": "x" * 1000, "n": n} for n in range(2000)]
    body = canonical_json(items)
    run = played(f"pipeline: p\nsteps: {{e: {{for_each: {body}, run: 'true', parallel: 1}}}}\n")
    pages = [page_of(run.now_is, run.plan, None, number, 100) for number in range(1, 22)]
    assert max(len(canonical_json(page)) for page in pages) < 2**20 // 2
    names = [s.name for page in pages for s in page["steps"]]  # type: ignore[attr-defined]
    assert names == ["e", *(f"e.{n}" for n in range(2000))]
    assert pages[0]["page"] == {"number": 1, "of": 21, "limit": 100, "steps": 2001}
    assert page_of(run.now_is, run.plan, None, 99, 100)["steps"] == []


def test_a_group_is_explained_by_the_first_members_that_failed() -> None:
    run = played(text(30), failing(*(f"e.{n}" for n in range(9)))).to_the_end()
    said = explain_step(run.now_is, run.plan, "e")
    assert [inner.subject for inner in said.about] == [f"runs/r/e.{n}" for n in range(5)]
    assert said.evidence == ("21/30 ✓ 9 ✗", "4 more failed: tw show r/e")
    assert [inner.subject for inner in explain_run(run.now_is, run.plan).about] == ["runs/r/e"]


def test_a_group_under_way_is_explained_by_what_runs() -> None:
    run = played(text(3, ", parallel: 2")).place_all()
    said = explain_step(run.now_is, run.plan, "e")
    assert [inner.subject for inner in said.about] == ["runs/r/e.0", "runs/r/e.1"]
    assert said.evidence == ("0/3 ✓",)
    stopped = run.stop().end_all()
    assert Outline(stopped.now_is, stopped.plan).count(stopped.now_is.step(StepName("e"))) == "0/3 ✓ 3 ■"
