"""What a notebook shows: well-formed, escaped, without scripts, whatever the names are."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from build import NOW, after, asks, content, ended, placed, plan, register, run, step, tell, view, well
from trainwright.core.artifact import PinnedData
from trainwright.core.job import MemoryGrowth, Retry
from trainwright.core.run import RunView
from trainwright.core.states import MARKS, ExitClass, RunState, StepState
from trainwright.notebook.html import pill
from trainwright.notebook.views import Comparison, Runs, ShownPlan, ShownRun
from trainwright.plan.plan import Group, GroupKind, Plan
from trainwright.service.compare import Difference

HOSTILE = '<script>alert("1")</script>&amp;\'"'
VOID = {"rect", "path", "polygon"}
ALLOWED = {"div", "span", "b", "code", "table", "thead", "tbody", "tr", "th", "td", "svg", "title", "g", "text", *VOID}


class Reader(HTMLParser):
    """Holds that tags are nested as they should be and harmless; keeps the text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED, tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in {"href", "src", "id", "class"}, name
            assert value is not None
            assert "url(" not in value
            assert name == "xmlns" or "://" not in value
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


def read(shown: object) -> Reader:
    reader = Reader(shown._repr_html_())  # type: ignore[attr-defined]
    assert "<style" not in shown._repr_html_()  # type: ignore[attr-defined]
    return reader


PLAN = plan(
    step("prep", reads=["data.raw"], out={"table": "dataset"}),
    step("train", reads=["prep.table"], out={"model": "model"}),
    step("judge", reads=["train.model"], checks=["auc >= 0.8"]),
    register("register", alias="candidate"),
    params={"C": 0.5, "name": HOSTILE},
    data=(PinnedData("raw", "file:raw", HOSTILE, content("raw")),),
)


def finished(auc: float = 0.9) -> RunView:
    return tell(
        PLAN, view(PLAN), *well("r/prep/1", outputs=["table"]), *well("r/train/1", outputs=["model"]),
        *well("r/judge/1", metrics={"auc": auc, HOSTILE: 1.0}),
    )  # fmt: skip


def shown(now_is: RunView, of: Plan = PLAN) -> ShownRun:
    return ShownRun(now_is, of, "fp:3fa9", after(90))


def test_a_run_shows_its_state_metrics_parameters_checks_and_outputs() -> None:
    page = read(shown(finished()))
    for text in (
        "✓ succeeded",
        "pipe #1",
        "fp:3fa9",
        "0.5",
        "auc 0.9",
        "judge: passed: auc >= 0.8  [auc = 0.9]",
        HOSTILE,
    ):
        assert text in page.text
    assert "script" not in page.tags
    assert page.tags.count("table") == 3


def test_a_failed_run_says_why() -> None:
    page = read(shown(finished(auc=0.5)))
    assert "✗ failed" in page.text
    assert "the check auc >= 0.8 failed (auc = 0.5)" in page.text
    assert "was skipped because judge did not succeed" in page.text


def test_a_run_has_what_a_program_asks_for() -> None:
    one = shown(finished())
    assert one.state == "succeeded"
    assert one.metrics["judge"]["auc"] == 0.9
    assert one.params["C"] == 0.5
    assert one.run.pipeline == "pipe"
    first, *steps = repr(one).splitlines()
    assert first.startswith("✓ succeeded  pipe #1  r  C=0.5")
    assert steps[2].startswith("  ✓ succeeded  judge  auc 0.9")


def test_more_memory_after_running_out_of_it_is_shown() -> None:
    grows = Retry(max=3, on=(ExitClass.OOM,), memory=MemoryGrowth(2000))
    of = plan(step("a", retry=grows, asked=asks(memory_gi=4)))
    now_is = tell(of, view(of), placed("r/a/1"), ended("r/a/1", cause="out-of-memory"))
    assert "memory a: attempt 2: 8Gi after out of memory at 4Gi" in read(shown(now_is, of)).text


def test_a_group_is_a_line_with_its_count_and_its_failures() -> None:
    group = Group(GroupKind.EACH, (step("eval.*"),), items=tuple(range(40)), tolerate=40)
    of = plan(replace(step("eval"), group=group))
    now_is = tell(of, view(of), *(h for n in range(40) for h in well(f"r/eval.{n}/1", exit_code=n % 2)))
    page = read(shown(now_is, of))
    assert "20 of 40 succeeded, 20 failed" in page.text
    assert "eval.39" in page.text
    assert "eval.38" not in page.text
    assert "  ✓ succeeded  eval  20 of 40 succeeded, 20 failed" in repr(shown(now_is, of))


def test_every_state_has_a_mark_of_its_own() -> None:
    states = {str(state) for kind in (StepState, RunState) for state in kind}
    assert states == set(MARKS)
    assert len(set(MARKS.values())) == len(MARKS)


def test_a_loop_says_which_round_it_is_in() -> None:
    loop = Group(GroupKind.LOOP, (step("tune.*"),), max_rounds=6, until="tune.loss < 1")
    of = plan(replace(step("tune"), group=loop))
    now_is = tell(of, view(of), *well("r/tune.0/1", metrics={"loss": 2.0}), placed("r/tune.1/1"))
    assert "round 2 of at most 6" in read(shown(now_is, of)).text


def test_runs_are_a_table_and_a_sequence() -> None:
    records = [
        run(PLAN),
        replace(run(PLAN, "s", number=2), state=RunState.FAILED, pipeline=HOSTILE, finished_at=after(60)),
    ]
    latest = Runs(tuple(records), after(90))
    page = read(latest)
    assert ("✗ failed" in page.text, "1m00s" in page.text, HOSTILE in page.text) == (True, True, True)
    assert (len(latest), latest[1].id, [r.id for r in latest]) == (2, "s", ["r", "s"])
    assert len(repr(latest).splitlines()) == 2
    assert read(Runs((), NOW)).text == repr(Runs((), NOW)) == "no runs yet"


def test_a_comparison_shows_what_differs_and_counts_the_rest() -> None:
    lines = (
        Difference("param", "C", 0.5, 1.0),
        Difference("metric", HOSTILE, None, 0.123456789),
        Difference("code", "tree", "x", "x"),
    )
    two = Comparison(run(PLAN), run(PLAN, "s", number=2), lines)
    page = read(two)
    for text in ("#1 r", "#2 s", HOSTILE, "0.123457", "1 parts are equal"):
        assert text in page.text
    assert [d.name for d in two.differences] == ["C", HOSTILE]
    assert f"  metric {HOSTILE}:  → 0.123457" in repr(two)
    assert "differ in nothing" in read(replace(two, lines=lines[2:])).text


def test_a_plan_shows_its_graph() -> None:
    page = read(ShownPlan(PLAN))
    assert page.tags.count("rect") == 5
    for text in ("raw", "table", "auc >= 0.8", "models/m", "table: dataset", HOSTILE):
        assert text in page.text
    assert "  judge after train" in repr(ShownPlan(PLAN)).splitlines()
    assert ShownPlan(PLAN).digest == PLAN.digest


@pytest.mark.parametrize(
    "state", ["succeeded", "failed", "running", "queued", "pending", "cancelled", "no-baseline", HOSTILE]
)
def test_every_state_is_readable_on_its_ground(state: str) -> None:
    ground = re.search(r"background:#(\w{6})", pill(state).text)
    assert ground is not None
    parts = [int(ground[1][i : i + 2], 16) / 255 for i in (0, 2, 4)]
    light = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    assert 1.05 / (luminance + 0.05) >= 4.5  # white on it, by the contrast that WCAG asks for
    assert "<script" not in pill(state).text
