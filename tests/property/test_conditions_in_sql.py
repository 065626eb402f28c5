"""What SQL chooses is what Python chooses, for random conditions over random runs."""

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build import CHANCE, NOW, PROJECT, after, database, insert, plan, running, step, summary
from trainwright.core.condition import judge, parse
from trainwright.core.ids import RunId
from trainwright.core.query import Known, Operand, truth, typed
from trainwright.core.run import Run
from trainwright.lifecycle.advance import advance
from trainwright.store import runs, selection
from trainwright.store.database import Database
from trainwright.store.rows import instant

NUMBERS = st.sampled_from([0, 1, -1, 2, 0.5, -0.25, 3.0, 1e300, -1e300, 2**53 + 1, 2**63, True, False])
VALUES = st.sampled_from([0.0, 0.1, 0.5, -1.0, 2.0, 1e300, math.nan, math.inf, -math.inf])
TEXTS = st.sampled_from(["", "a", "b", "ab", "A", "é", "1", "it's", '"', "%", "a b; DROP TABLE run"])
OPERANDS = {
    "m": Operand("metric", "m"),
    "a.m": Operand("metric", "m", "a"),
    "b.m": Operand("metric", "m", "b"),
    "a.k": Operand("metric", "k", "a"),
    "params.n": Operand("param", "n"),
    "params.x": Operand("param", "x", kind="any"),
    "params.t": Operand("param", "t", kind="text"),
    "pipeline": Operand("field", "pipeline", kind="text"),
    "number": Operand("field", "number"),
}
NAMED_NUMBERS = ["m", "a.m", "b.m", "a.k", "params.n", "params.x", "number"]
NAMED_TEXTS = ["params.t", "params.x", "pipeline"]

number_texts = st.recursive(
    st.sampled_from(NAMED_NUMBERS) | st.sampled_from(["0", "1", "0.5", "2", "1e300", "True", "9007199254740993", "-1"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner)
    | st.builds("(-{})".format, inner) | st.builds("abs({})".format, inner)
    | st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
    max_leaves=4,
)  # fmt: skip
text_texts = st.sampled_from(NAMED_TEXTS) | TEXTS.map(repr)
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
comparisons = (
    st.builds("{} {} {}".format, number_texts, signs, number_texts)
    | st.builds("{} < {} <= {}".format, number_texts, number_texts, number_texts)
    | st.builds("{} {} {}".format, st.sampled_from(NAMED_TEXTS), signs, text_texts)
    | st.builds("{} {} {}".format, TEXTS.map(repr), st.sampled_from(["in", "not in"]), st.sampled_from(NAMED_TEXTS))
    | st.builds("{} in [{}, {}]".format, number_texts, number_texts, number_texts)
    | st.builds("{} not in [{}]".format, st.sampled_from(NAMED_TEXTS), text_texts)
    | st.builds('has("{}")'.format, st.sampled_from(sorted(OPERANDS)))
    | number_texts
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
    | st.builds("not ({})".format, inner),
    max_leaves=4,
)  # fmt: skip
params = st.fixed_dictionaries({}, optional={"n": NUMBERS, "x": NUMBERS | TEXTS, "t": TEXTS})
metrics = st.fixed_dictionaries({}, optional={"m": VALUES, "k": VALUES})
worlds = st.lists(st.tuples(params, metrics, metrics, st.booleans()), min_size=1, max_size=4)


def ran(into: Database, name: str, given_: dict, first: dict, second: dict, *, again: bool) -> Run:
    """A run of steps a and b that logged something; ``again`` = the attempt at a was the one before its last."""
    of = plan(step("a"), step("b"), params=given_)
    record = insert(into, of, name)
    with into.writing() as rows:
        runs.take_lease(rows, RunId(name), "e", None, after(9))
        view = runs.view(rows, RunId(name))
        began = [running(f"{name}/{s}/1") for s in ("a", "b")]
        changes = advance(of, view, began, NOW, CHANCE)
        logged = {"a": first, "b": second}
        told = [replace(a, metrics={n: summary(v) for n, v in logged[a.step].items()}) for a in changes.attempts]
        steps = tuple(replace(s, attempts=2) if again and s.name == "a" else s for s in changes.steps)
        runs.apply(rows, record, replace(changes, attempts=tuple(told), steps=steps), NOW, "e")
    return record


def look_at(record: Run, first: dict, second: dict, *, again: bool):
    """What a plain reading of the sentence in the docs gives."""
    a = {} if again else first

    def look(operand: Operand) -> Known | None:
        match operand.home, operand.step:
            case "param", _:
                return record.params.get(operand.name)  # type: ignore[return-value] # drawn above: no lists
            case "metric", "a":
                return a.get(operand.name)
            case "metric", "b":
                return second.get(operand.name)
            case "metric", _:
                return second.get(operand.name, a.get(operand.name))
            case _:
                return record.number if operand.name == "number" else record.pipeline

    return look


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds, texts=st.lists(conditions, min_size=1, max_size=12))
def test_sql_and_python_choose_the_same_runs(tmp_path_factory: pytest.TempPathFactory, world, texts) -> None:
    into = database(tmp_path_factory.mktemp("w"))
    made = []
    for i, (given_, first, second, again) in enumerate(world):
        record = ran(into, f"r{i}", given_, first, second, again=again)
        made.append((record, look_at(record, first, second, again=again)))
    for text in texts:
        if len(text) > 400:
            continue
        term = typed(parse(text), OPERANDS.__getitem__, OPERANDS.__getitem__)
        with into.reading() as rows:
            chosen = selection.choose(rows, selection.Wanted(PROJECT, instant(NOW) or "", term))
        assert sorted(c.run.id for c in chosen) == [r.id for r, look in made if truth(term, look)], text
    into.close()


@settings(deadline=None)
@given(text=conditions, values=st.fixed_dictionaries({n: st.sampled_from([0.0, 0.5, -1.0, 2.0]) for n in ("m", "n")}))
def test_a_condition_whose_names_are_all_there_is_judged_as_a_check_is(text: str, values: dict[str, float]) -> None:
    simple = text.replace("a.m", "m").replace("b.m", "m").replace("a.k", "m").replace("number", "n")
    if "params" in simple or "pipeline" in simple or "has" in simple or len(simple) > 400:
        return
    term = typed(parse(simple), lambda n: Operand("metric", n), lambda n: Operand("metric", n))
    verdict = judge(parse(simple), values)
    if verdict.verdict in {"passed", "failed"} and "/" not in simple and "%" not in simple and "e300" not in simple:
        assert truth(term, lambda o: values[o.name]) is (verdict.verdict == "passed"), simple
