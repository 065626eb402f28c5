"""Random graphs with groups, joins, conditions and ends, and a model that says how every step comes to an end.

The model knows no turns, no clock, no records: it walks the graph once. It is written from the documentation of the
language and imports nothing of what it is compared with.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

WELL, BADLY, PASSED_OVER = "well", "badly", "passed over"
SUCCEEDED, FAILED, SKIPPED = "succeeded", "failed", "skipped"


@dataclass(frozen=True)
class Node:
    """One step of a file.

    Attributes:
        ends: how its commands end, by the sum of the numbers in their names: good, bad, flaky, gate or skip.
        members: of ``for_each``, None without; ``listed`` when another step makes the list.
        rounds: of ``loop``, 0 without.
        until: asks for ``passed``, or for the round.
        body: steps of the file that it uses; empty for a command.
        condition: ``passed`` or ``good`` of the first step before it, ``member`` of its own item; empty without.
        on_fail: how the step ends that follows its failure; empty without.
    """

    name: str
    needs: tuple[str, ...]
    ends: tuple[str, ...]
    join: str = "all_success"
    condition: str = ""
    members: int | None = None
    listed: bool = False
    parallel: int = 0
    tolerate: int = 0
    rounds: int = 0
    until: str = "passed"
    body: tuple["Node", ...] = ()
    on_fail: str = ""

    def end(self, numbers: tuple[int, ...]) -> str:
        return self.ends[sum(numbers) % len(self.ends)]


@st.composite
def nodes(draw: st.DrawFn, depth: int = 2, most: int = 4) -> tuple[Node, ...]:
    names = "abcd"[: draw(st.integers(1, most))]
    return tuple(draw(_node(name, names[:i], depth)) for i, name in enumerate(names))


@st.composite
def _node(draw: st.DrawFn, name: str, before: str, depth: int) -> Node:
    needs = tuple(sorted(draw(st.sets(st.sampled_from(before), max_size=2)))) if before else ()
    kind = draw(st.sampled_from(["one", "one", "each", "loop"]))
    body = draw(nodes(depth - 1, 3)) if depth and draw(st.integers(0, 2)) == 0 else ()
    each, loop = kind == "each", kind == "loop"
    conditions = ["", "", *(["passed", "good"] if needs else []), *(["member"] if each else [])]
    words = ["good", "good", "good", "bad", "flaky", "gate", "skip"]
    return Node(
        name=name,
        needs=needs,
        ends=tuple(draw(st.lists(st.sampled_from(words), min_size=1, max_size=3))),
        join=draw(st.sampled_from(["all_success", "all_success", "none_failed", "one_success", "all_done"])),
        condition=draw(st.sampled_from(conditions)),
        members=draw(st.integers(0, 3)) if each else None,
        listed=each and draw(st.booleans()),
        parallel=draw(st.integers(0, 2)) if each else 0,
        tolerate=draw(st.integers(0, 2)) if each else 0,
        rounds=draw(st.integers(1, 3)) if loop else 0,
        until=draw(st.sampled_from(["passed", "round"])),
        body=body,
        on_fail=draw(st.sampled_from(["", "", "good", "bad"])),
    )


def texts(graph: tuple[Node, ...], path: str = "top") -> dict[str, str]:
    """The file of a graph and those that it uses, by name: ``./top.yaml``. JSON is YAML."""
    files: dict[str, str] = {}
    steps: dict[str, Any] = {}
    for node in graph:
        inner = f"{path}-{node.name}"
        steps[node.name] = _written(node, inner)
        if node.listed:
            steps[f"{node.name}_list"] = {"run": "list ${{ out.list }}", "out": {"list": "value"}}
        if node.body:
            files |= texts(node.body, inner)
    files[f"./{path}.yaml"] = json.dumps({"pipeline": path, "steps": steps})
    return files


def _written(node: Node, inner: str) -> dict[str, Any]:
    step: dict[str, Any] = {"depends_on": list(node.needs)}
    if node.body:
        step["uses"] = f"./{inner}.yaml"
    else:
        step |= {"run": "work", "check": ["good > 0"], "retry": {"max": 1}, "skip_code": 99}
    when = [] if node.join == "all_success" else [node.join]
    when += {
        "passed": [f"{node.needs[0]}.passed" if node.needs else ""],
        "good": [f"{node.needs[0]}.good > 0" if node.needs else ""],
        "member": ["each.value != 1"],
    }.get(node.condition, [])
    if when:
        step["when"] = when
    if node.members is not None:
        step["for_each"] = f"{node.name}_list.list" if node.listed else list(range(node.members))
        step |= {"tolerate": node.tolerate, **({"parallel": node.parallel} if node.parallel else {})}
    if node.rounds:
        passed = f"{node.body[0].name}.passed" if node.body else "passed"
        step["loop"] = {"max_rounds": node.rounds, "until": passed if node.until == "passed" else "loop.round >= 1"}
    if node.on_fail:
        step["on_fail"] = {"run": f"follow {node.on_fail}"}
    return step


def fates(graph: tuple[Node, ...]) -> dict[str, Node]:
    """Path with stars → its node, for every command."""
    found: dict[str, Node] = {}
    for node in graph:
        path = node.name + (".*" if node.members is not None or node.rounds else "")
        if node.body:
            found |= {f"{path}.{inner}": under for inner, under in fates(node.body).items()}
        else:
            found[path] = node
    return found


@dataclass
class Model:
    """How a graph ends.

    Attributes:
        final: step → state.
        only_checks: steps that failed, and in which nothing failed but checks.
        well: value of ``good`` that a command logged last, by step.
    """

    final: dict[str, str] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    only_checks: set[str] = field(default_factory=set)
    good: dict[str, int] = field(default_factory=dict)

    def run(self, graph: tuple[Node, ...]) -> dict[str, str]:
        self.file(graph, "", ())
        states = [self.final[name] for node in graph for name in _of(node, "") if name in self.final]
        return {**self.final, "run": FAILED if FAILED in states else SUCCEEDED}

    def file(self, graph: tuple[Node, ...], prefix: str, numbers: tuple[int, ...]) -> None:
        for node in graph:
            path = prefix + node.name
            if node.listed:
                self.put(f"{path}_list", SUCCEEDED)
            ends = [self.ends[prefix + need] for need in node.needs] + [WELL] * node.listed
            skipped = self.joined(node.join, ends)
            if skipped:
                self.put(path, SKIPPED, skipped)
            elif self.condition(node, prefix) is None:
                self.put(path, FAILED)
            elif not self.condition(node, prefix):
                self.put(path, SKIPPED)
            else:
                self.step(node, path, numbers)
            if node.on_fail:
                ended = {"good": SUCCEEDED, "bad": FAILED}[node.on_fail] if self.final[path] == FAILED else SKIPPED
                self.put(f"{path}.on_fail", ended)

    def put(self, path: str, state: str, end: str = "") -> None:
        self.final[path] = state
        self.ends[path] = end or {SUCCEEDED: WELL, SKIPPED: PASSED_OVER, FAILED: BADLY}[state]

    def joined(self, rule: str, ends: list[str]) -> str:
        """How the step counts that is skipped; empty when it begins."""
        bad, over, well = (ends.count(end) for end in (BADLY, PASSED_OVER, WELL))
        if rule == "all_done" or not ends:
            return ""
        if rule == "one_success":
            return "" if well else BADLY if bad else PASSED_OVER
        if bad:
            return BADLY
        return PASSED_OVER if over and rule == "all_success" else ""

    def condition(self, node: Node, prefix: str) -> bool | None:
        """Whether it holds; None when it cannot be told."""
        before = prefix + node.needs[0] if node.needs else ""
        if node.condition == "passed":
            return self.final[before] == SUCCEEDED
        if node.condition == "good":
            return None if before not in self.good else self.good[before] > 0
        return True

    def step(self, node: Node, path: str, numbers: tuple[int, ...]) -> None:
        if node.members is not None:
            self.each(node, path, numbers)
        elif node.rounds:
            self.loop(node, path, numbers)
        else:
            self.one(node, path, numbers)

    def each(self, node: Node, path: str, numbers: tuple[int, ...]) -> None:
        members = [f"{path}.{number}" for number in range(node.members or 0)]
        for number, member in enumerate(members):
            if node.condition == "member" and number == 1:
                self.put(member, SKIPPED)
            else:
                self.one(node, member, (*numbers, number))
        states = [self.final[member] for member in members]
        if states.count(FAILED) > node.tolerate:
            self.put(path, FAILED)
            self.blame(path, members)
        else:
            self.put(path, SKIPPED if states and set(states) == {SKIPPED} else SUCCEEDED)

    def loop(self, node: Node, path: str, numbers: tuple[int, ...]) -> None:
        for number in range(node.rounds):
            last = f"{path}.{number}"
            self.one(node, last, (*numbers, number))
            goes_on = node.until == "passed" and last in self.only_checks
            if self.final[last] != SUCCEEDED and not goes_on:
                return self.as_round(path, last)
            passed = f"{last}.{node.body[0].name}" if node.body else last
            if self.final[passed] == SUCCEEDED if node.until == "passed" else number >= 1:
                return self.as_round(path, last)
            if last in self.good:
                self.good[path] = self.good[last]
        return self.put(path, FAILED)

    def as_round(self, path: str, last: str) -> None:
        """A loop ends as its last round."""
        self.put(path, self.final[last])
        if last in self.only_checks:
            self.only_checks.add(path)
        self.good.pop(path, None)
        if last in self.good:
            self.good[path] = self.good[last]

    def one(self, node: Node, path: str, numbers: tuple[int, ...]) -> None:
        if not node.body:
            self.command(node, path, numbers)
            return
        self.file(node.body, f"{path}.", numbers)
        steps = [f"{path}.{name}" for inner in node.body for name in _of(inner, "")]
        states = [self.final[step] for step in steps]
        if FAILED in states:
            self.put(path, FAILED)
            self.blame(path, steps)
        else:
            self.put(path, SKIPPED if set(states) == {SKIPPED} else SUCCEEDED)

    def blame(self, path: str, steps: list[str]) -> None:
        failed = {step for step in steps if self.final[step] == FAILED}
        if failed <= self.only_checks:
            self.only_checks.add(path)

    def command(self, node: Node, path: str, numbers: tuple[int, ...]) -> None:
        end = node.end(numbers)
        self.put(path, {"bad": FAILED, "gate": FAILED, "skip": SKIPPED}.get(end, SUCCEEDED))
        if end == "gate":
            self.only_checks.add(path)
        if end in {"good", "flaky", "gate"}:
            self.good[path] = int(end != "gate")


def _of(node: Node, prefix: str) -> list[str]:
    """Every step that a node is in its file."""
    name = prefix + node.name
    return [*([f"{name}_list"] if node.listed else []), name, *([f"{name}.on_fail"] if node.on_fail else [])]


def star_path(step: str) -> str:
    """``a.*.b`` for ``a.3.b``."""
    return ".".join("*" if part.isdigit() else part for part in step.split("."))


def numbers_of(step: str) -> tuple[int, ...]:
    return tuple(int(part) for part in step.split(".") if part.isdigit())


def end_of(graph: tuple[Node, ...], step: str, number: int) -> Mapping[str, Any]:
    """How an attempt ends: exit code and the number that it logs."""
    if step.endswith("_list"):
        return {"exit_code": 0, "good": None, "list": True}
    if step.endswith(".on_fail"):
        owner = _node_at(graph, star_path(step.removesuffix(".on_fail")))
        return {"exit_code": 0 if owner.on_fail == "good" else 1, "good": None, "list": False}
    end = fates(graph)[star_path(step)].end(numbers_of(step))
    code = {"bad": 1, "skip": 99, "flaky": 1 if number == 1 else 0}.get(end, 0)
    good = {"good": 1, "flaky": 1, "gate": 0}.get(end) if code == 0 else None
    return {"exit_code": code, "good": good, "list": False}


def _node_at(graph: tuple[Node, ...], path: str) -> Node:
    """The node of a path such as ``a.*.b``."""
    head, *rest = [part for part in path.split(".") if part != "*"]
    node = next(n for n in graph if n.name == head)
    return _node_at(node.body, ".".join(rest)) if rest else node


def members_of(graph: tuple[Node, ...], step: str) -> int:
    """Items in the list that the step ``…_list`` makes."""
    return _node_at(graph, star_path(step.removesuffix("_list"))).members or 0
