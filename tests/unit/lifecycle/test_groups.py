"""Groups: members side by side, how many go on at once, how a group ends, lists, collections, a stop in the middle."""

import pytest

from build import ended, placed
from compiled import BAD, Played, played
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.job import CodeTree, JobSpec, Part
from trainwright.core.scalar import Plain
from trainwright.lifecycle.groups import WAITING, ListRead
from trainwright.lifecycle.job import build_job
from trainwright.spec.document import MOST_MEMBERS

SKIP = {"exit_code": 9}


def each(items: str, more: str = "") -> str:
    return f"pipeline: p\nsteps:\n  e: {{for_each: {items}, run: 'echo ${{{{ each.value }}}}', skip_code: 9{more}}}\n"


def job(run: Played, attempt: str) -> JobSpec:
    record = run.now_is.attempts[AttemptId(f"r/{attempt}")]
    return build_job(run.plan, run.now_is, record, CodeTree(record.id, "."))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("items", "ends", "tolerate", "state", "code"),
    [
        ("[]", {}, 0, "succeeded", "succeeded"),
        ("[1]", {}, 0, "succeeded", "succeeded"),
        ("[1]", {"e.0": BAD}, 0, "failed", "members-failed"),
        ("[1]", {"e.0": SKIP}, 0, "skipped", "members-skipped"),
        ("[1, 2, 3]", {}, 0, "succeeded", "succeeded"),
        ("[1, 2, 3]", {"e.1": BAD}, 0, "failed", "members-failed"),
        ("[1, 2, 3]", {"e.1": BAD}, 1, "succeeded", "succeeded"),
        ("[1, 2, 3]", {"e.1": BAD, "e.2": BAD}, 1, "failed", "members-failed"),
        ("[1, 2, 3]", {"e.0": BAD, "e.1": BAD, "e.2": BAD}, 5, "succeeded", "succeeded"),
        ("[1, 2, 3]", {"e.0": SKIP, "e.1": SKIP, "e.2": SKIP}, 0, "skipped", "members-skipped"),
        ("[1, 2, 3]", {"e.0": SKIP, "e.1": SKIP}, 0, "succeeded", "succeeded"),
        ("[1, 2, 3]", {"e.0": SKIP, "e.1": SKIP, "e.2": BAD}, 1, "succeeded", "succeeded"),
    ],
)
def test_how_a_group_ends(items: str, ends: dict[str, dict[str, object]], tolerate: int, state: str, code: str) -> None:
    run = played(each(items, f", tolerate: {tolerate}"), ends).to_the_end()
    assert (run.states["e"], run.code("e")) == (state, code)
    assert run.states["run"] == ("failed" if state == "failed" else "succeeded")


def test_a_group_that_failed_says_how_many_and_which_was_the_first() -> None:
    run = played(each("[1, 2, 3, 4]", ", tolerate: 1"), {"e.1": BAD, "e.3": BAD}).to_the_end()
    assert run.sentence("e") == "2 of 4 members failed, 1 may; the first was e.1: the command ended with exit code 1"
    assert run.now_is.run.reason is not None
    assert run.now_is.run.reason.evidence["code"] == "user-error"


@pytest.mark.parametrize(("more", "most"), [("", 5), (", parallel: 2", 2), (", parallel: 1", 1), (", parallel: 9", 5)])
def test_members_begin_in_order_as_many_as_may(more: str, most: int) -> None:
    run = played(each("[5, 6, 7, 8, 9]", more)).to_the_end()
    assert run.begun == [f"r/e.{n}/1" for n in range(5)]
    assert run.live == most


def test_without_a_limit_a_few_members_wait_for_room_at_one_time() -> None:
    run = played(each(str(list(range(WAITING + 3)))))
    assert len(run.live_attempts()) == WAITING
    assert run.place_all().to_the_end().states["run"] == "succeeded"
    assert len(run.begun) == WAITING + 3


def test_a_member_that_fails_leaves_the_others_alone() -> None:
    run = played(each("[1, 2, 3]", ", parallel: 1"), {"e.0": BAD}).to_the_end()
    assert [run.states[f"e.{n}"] for n in range(3)] == ["failed", "succeeded", "succeeded"]


def test_a_member_is_repeated_by_itself() -> None:
    run = played(each("[1, 2]", ", retry: 1"), {"e.1/1": BAD}).to_the_end()
    assert sorted(run.begun) == ["r/e.0/1", "r/e.1/1", "r/e.1/2"]
    assert run.states["e"] == "succeeded"


def test_a_skip_code_above_128_is_no_signal() -> None:
    text = "pipeline: p\nsteps: {a: {run: 'true', skip_code: 143}, b: {run: 'true'}}\n"
    run = played(text, {"a": {"exit_code": 143}, "b": {"exit_code": 143}}).to_the_end()
    assert (run.states["a"], run.code("a"), run.code("b")) == ("skipped", "skipped-itself", "interrupted")


# lists

LISTED = """\
pipeline: p
steps:
  list: {run: 'echo ${{ out.list }}', out: {list: value}}
  e: {for_each: list.list, run: 'echo ${{ each.k }} ${{ each.index }}', out: {o: value}}
  after: {run: 'cat ${{ e.o }}', when: all_done}
"""


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"k": 1}, "list.list cannot be the list of its members: it holds dict, not a list"),
        (None, "list.list cannot be the list of its members: it holds NoneType, not a list"),
        ([{"k": 1}, {"j": 1}], "list.list cannot be the list of its members: item 1 has no k"),
        ([1], "list.list cannot be the list of its members: item 0 has no k"),
        ([0] * (MOST_MEMBERS + 1), "it has 10001 items, at most 10000 are allowed"),
    ],
)
def test_what_is_no_list_fails_the_group_and_not_its_maker(value: Plain, fault: str) -> None:
    run = played(LISTED, lists={"e": value}).to_the_end()
    assert run.states == {"list": "succeeded", "e": "failed", "after": "succeeded", "run": "failed"}
    assert fault in run.sentence("e")


def test_a_list_that_cannot_be_read_fails_the_group_with_the_words() -> None:
    run = played(LISTED).place_all().end_all()
    assert run.code("e") == "reading-list"
    run.tell(ListRead(StepName("e"), problem="it is not JSON"))
    assert run.sentence("e") == "list.list cannot be the list of its members: it is not JSON"


def test_a_list_that_is_read_twice_makes_members_once() -> None:
    run = played(LISTED).place_all().end_all()
    read = ListRead(StepName("e"), [{"k": 1}])
    run.tell(read, read).tell(read)
    assert [s.name for s in run.now_is.steps] == ["list", "e", "after", "e.0"]


def test_a_step_that_made_no_list_skips_the_group_by_its_rule() -> None:
    run = played(LISTED, {"list": BAD}).to_the_end()
    assert run.states == {"list": "failed", "e": "skipped", "after": "succeeded", "run": "failed"}


def test_a_stop_while_a_list_is_read_makes_no_members() -> None:
    run = played(LISTED).place_all().end_all()
    assert run.states["e"] == "queued"
    late = ListRead(StepName("e"), [{"k": 1}])
    assert run.stop().states == {"list": "succeeded", "e": "cancelled", "after": "cancelled", "run": "cancelled"}
    assert run.tell(late).states == {"list": "succeeded", "e": "cancelled", "after": "cancelled", "run": "cancelled"}
    both = played(LISTED).place_all().end_all()
    both.now_is = both.stop_asked()
    assert both.tell(late).states["e"] == "cancelled"


def test_a_stop_in_the_middle_of_a_group_begins_nothing_more() -> None:
    run = played(each("[1, 2, 3, 4]", ", parallel: 2")).place_all().stop()
    assert run.states == {
        "e": "running", "e.0": "running", "e.1": "running", "e.2": "cancelled", "e.3": "cancelled", "run": "running",
    }  # fmt: skip
    run.end_all()
    assert {run.states[name] for name in ("e", "e.0", "e.1", "run")} == {"cancelled"}
    assert run.begun == ["r/e.0/1", "r/e.1/1"]


def test_members_that_somebody_else_stopped_cancel_the_group() -> None:
    run = played(each("[1, 2]")).place_all()
    run.tell(ended("r/e.0/1", cause="stopped"), ended("r/e.1/1"))
    assert run.states == {"e": "cancelled", "e.0": "cancelled", "e.1": "succeeded", "run": "cancelled"}


# collections


def test_a_collection_is_in_the_order_of_members_also_beyond_ten() -> None:
    items: Plain = [{"k": n} for n in range(12)]
    run = played(LISTED, {"e.3": BAD}, lists={"e": items}).to_the_end()
    wanted = [f"e.o.{n}" for n in range(12) if n != 3]
    told = job(run, "after/1")
    assert list(told.collections["e.o"].inputs) == wanted
    assert sorted(i.name for i in told.inputs) == sorted(wanted)
    assert run.inputs("after/1")["e.o.11"] == "runs:/r/e.11/o"


@pytest.mark.parametrize("ends", [{}, {"e.0": SKIP, "e.1": SKIP}])
def test_g03_a_collection_of_nobody_is_empty_and_no_failure(ends: dict[str, dict[str, object]]) -> None:
    text = """\
    pipeline: p
    steps:
      list: {run: 'echo ${{ out.list }}', out: {list: value}}
      e: {for_each: list.list, run: 'echo ${{ each.value }}', out: {o: value}, skip_code: 9}
      report: {run: 'cat ${{ e.o }}', when: all_done}
      choose: {run: 'cat ${{ e.o }}'}
    """
    run = played(text, ends, lists={"e": [1, 2] if ends else []}).to_the_end()
    skipped = "skipped" if ends else "succeeded"
    found = {name: run.states[name] for name in ("list", "e", "report", "choose", "run")}
    assert found == {"list": "succeeded", "e": skipped, "report": "succeeded", "choose": skipped, "run": "succeeded"}
    assert job(run, "report/1").collections["e.o"].inputs == ()


def test_what_each_stands_for_reaches_the_command_as_data() -> None:
    run = played(LISTED, lists={"e": [{"k": "a b"}, {"k": [1, None]}]}).place_all().end_all().place_all()
    assert job(run, "e.0/1").command.refs == {"TW_REF_1": (Part("a b"),), "TW_REF_2": (Part("0"),)}
    assert job(run, "e.1/1").command.refs == {"TW_REF_1": (Part("[1,null]"),), "TW_REF_2": (Part("1"),)}


def test_a_matrix_goes_through_its_values_the_last_fastest() -> None:
    text = "pipeline: p\nparams: {k: [x, y]}\nsteps: {m: {matrix: {b: [1, 2], a: params.k}, run: 'echo'}}\n"
    items = [s.item for s in played(text).now_is.steps if s.parent]
    assert items == [{"a": "x", "b": 1}, {"a": "x", "b": 2}, {"a": "y", "b": 1}, {"a": "y", "b": 2}]


def test_a_placement_of_a_member_that_ended_is_ignored() -> None:
    run = played(each("[1]")).to_the_end()
    before = run.now_is
    assert run.tell(placed("r/e.0/1")).now_is == before
