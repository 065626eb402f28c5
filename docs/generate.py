"""Writes the pages of the reference that are made from the code; ``--check`` only tells whether they are current.

The pages come from ``core.codes``, ``core.reasons``, ``core.stage``, ``core.states``, ``lifecycle.attempt``,
``sched.policy``, ``sim.columns`` and the command line itself. Running it twice changes nothing.
"""

import argparse
import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from trainwright.cli import errors as exits
from trainwright.cli.main import app
from trainwright.core import states
from trainwright.core.codes import CODES
from trainwright.core.errors import TrainwrightError
from trainwright.core.quantity import show_duration
from trainwright.core.reasons import CATALOGUE
from trainwright.core.stage import NUMBERS_ONLY, RULES
from trainwright.lifecycle.attempt import TRANSITIONS, Event
from trainwright.sched.policy import DEFAULT_POLICY, Policy
from trainwright.sim.columns import COLUMNS
from trainwright.sim.dialects import DIALECTS
from trainwright.sim.policy_file import rules_of

DOCS = Path(__file__).parent
SOURCES = DOCS.parent / "src" / "trainwright"
NOTE = "<!-- Made by docs/generate.py from the code. Do not edit. -->"

GROUPS = {
    "TW1": "Pipeline files and plans",
    "TW2": "Command line, data and code",
    "TW3": "Refused by a rule",
    "TW4": "Not found",
    "TW5": "Conflicts",
    "TW6": "Storage, database and backend",
    "TW9": "Our own mistakes",
}
_SPEC = ("WrongValueError", "__init__", "refuse", "wrong", "refuse_line")
"""What the readers of pipeline files raise before it becomes a ``SpecError``; ``__init__`` is a subclass's call."""

_EDGE = {"TW2001": exits.USAGE, "TW9001": exits.FAILED}
"""Codes that the command line itself prints, without an exception."""


def pages() -> dict[str, str]:
    """Return the text of each generated page, by its path below ``docs/``."""
    return {
        "reference/cli.md": cli_page(),
        "reference/errors.md": errors_page(),
        "reference/reasons.md": reasons_page(),
        "reference/simulation.md": simulation_page(),
        "reference/stages.md": stages_page(),
        "reference/states.md": states_page(),
    }


def stale() -> list[str]:
    """Return the pages whose file differs from what the code says now."""
    return [path for path, text in pages().items() if _read(DOCS / path) != text]


def cli_page() -> str:
    """Return the reference of ``tw``."""
    parts = [
        NOTE,
        "# Command line",
        "`tw` and `trainwright` are the same program. Data goes to standard output, talk to standard error.",
        "## Exit codes",
        table(("code", "name", "when"), _exit_rows()),
        "## Commands",
    ]
    for words, command in _commands("tw", typer.main.get_command(app)):
        parts += _command_parts(words, command)
    return _page(parts)


def errors_page() -> str:
    """Return every error code with its meaning and exit code."""
    parts = [
        NOTE,
        "# Errors",
        (
            "An error is one message on standard error: `error[CODE]: what`, then `where:`, `why:` and `fix:` as far "
            "as they are known. Codes are stable. `tw --debug` adds a traceback."
        ),
        "The column *exit* is the exit code of a command that ends with the error.",
    ]
    codes = _exit_codes_by_error()
    for prefix, title in GROUPS.items():
        rows = [
            (f"`{code}`", text, ", ".join(map(str, sorted(codes.get(code, set())))))
            for code, text in CODES.items()
            if code.startswith(prefix)
        ]
        parts += [f"## {title}", table(("code", "means", "exit"), rows)]
    return _page(parts)


def reasons_page() -> str:
    """Return every reason with its sentence and remedy."""
    rows = [
        (f"`{code.value}`", _braces(entry.sentence), _braces(entry.remedy))
        for code, entry in sorted(CATALOGUE.items(), key=lambda item: item[0].value)
    ]
    return _page(
        [
            NOTE,
            "# Reasons",
            (
                "Why something waits, failed, was skipped or stopped. `tw why RUN` prints the sentence, its numbers "
                "and the remedy; `--json` gives the code. Words in *italics* are filled in. A stored reason is a code "
                "with evidence; codes are never renamed."
            ),
            table(("code", "sentence", "what to do"), rows),
        ]
    )


def simulation_page() -> str:
    """Return the columns of a trace and the rules of a policy file."""
    parts = [
        NOTE,
        "# Simulation",
        (
            "`tw simulate` reads traces (`--trace`) and policies (`--policy`). How to use it: "
            "[Simulate a change](../how-to/simulate-a-change.md)."
        ),
        "## Columns of a trace",
        (
            "CSV with a first line of names, or one JSON object a line; `.gz` too. What is absent or empty has its "
            "default. A column that is none but looks like one is refused; others are told and left aside."
        ),
        table(("column", "holds"), [(f"`{name}`", text) for name, text in COLUMNS.items()]),
        (
            "Published traces are known by their columns: "
            + ", ".join(f"{dialect.name} (`{'`, `'.join(sorted(dialect.columns))}`)" for dialect in DIALECTS)
            + ". Other columns of theirs are left aside."
        ),
        "## Rules of a policy",
        "A YAML file with those that are to differ, by section. Durations are written as `30s`, `10m` or `7d`.",
    ]
    for field in dataclasses.fields(Policy):
        section = getattr(DEFAULT_POLICY, field.name)
        notes = _attributes(type(section))
        rows = [
            (f"`{rule}`", _rule_default(section, name), notes.get(name, "")) for rule, name in rules_of(section).items()
        ]
        head = (inspect.getdoc(section) or "").splitlines()[0]
        parts += [f"### `{field.name}`", head, table(("rule", "by itself", "means"), rows)]
    return _page(parts)


def stages_page() -> str:
    """Return what each standard stage owes and which checks it brings."""
    parts = [
        NOTE,
        "# Stages",
        (
            "A step with `stage:` owes the metadata below, and gets the checks below beside its own. A step that does "
            "not give what it owes fails with the reason `metadata-missing`."
        ),
        (
            "What counts: metrics from `tw.log`, facts from `tw.params` or a parameter of the run with that name, and "
            "what the platform knows of inputs and outputs."
        ),
    ]
    for stage, rule in RULES.items():
        parts.append(f"## `{stage.value}`")
        if rule.owes:
            parts.append(table(("owes", "how the step gives it"), [(f"`{o.name}`", o.remedy) for o in rule.owes]))
        else:
            parts.append("Owes nothing: the registration itself records model, version, metrics and checks.")
        if rule.gates:
            parts.append("Brings the checks " + ", ".join(f"`{gate}`" for gate in rule.gates) + ".")
        if stage in NUMBERS_ONLY:
            parts.append("Every final metric must be a finite number; otherwise the reason is `not-a-number`.")
    return _page(parts)


def states_page() -> str:
    """Return the states and the table of transitions of an attempt."""
    parts = [
        NOTE,
        "# States",
        "A run has steps, a step has attempts. States are stored and never renamed.",
    ]
    for title, kind in (
        ("Runs", states.RunState),
        ("Steps", states.StepState),
        ("Attempts", states.AttemptState),
    ):
        notes = _notes(kind)
        rows = [(f"`{s.value}`", "yes" if s.is_final else "", notes.get(s.name, "")) for s in kind]
        parts += [f"## {title}", table(("state", "final", "means"), rows)]
    parts += [
        "## Transitions of an attempt",
        (
            "Nobody sets a state: an event moves an attempt along this table. An empty cell means that the event is "
            "ignored in that state, because backends repeat themselves and reorder. Final states have no row."
        ),
        _transitions(),
        "## Kinds of ends",
        "What an attempt ended with; `retry: {on: […]}` names some of them.",
        table(
            ("kind", "means"), [(f"`{e.value}`", _notes(states.ExitClass).get(e.name, "")) for e in states.ExitClass]
        ),
    ]
    return _page(parts)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _transitions() -> str:
    rows: list[tuple[str, ...]] = []
    for state in states.AttemptState:
        if any(before is state for before, _ in TRANSITIONS):
            after = [TRANSITIONS.get((state, event)) for event in Event]
            rows.append((f"`{state.value}`", *(f"`{a.value}`" if a else "" for a in after)))
    return table(("state", *(f"`{event.value}`" for event in Event)), rows)


def _attributes(kind: type) -> dict[str, str]:
    """Return what the docstring of a class says of each attribute; several with commas between share a sentence."""
    _, _, listed = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    found: dict[str, str] = {}
    for names, text in re.findall(r"^    (\w+(?:, \w+)*): (.*(?:\n      +.*)*)", listed, re.MULTILINE):
        found |= dict.fromkeys(names.split(", "), _text(text))
    return found


def _rule_default(section: object, name: str) -> str:
    value = getattr(section, name)
    if name.endswith("_s"):
        return f"`{show_duration(value)}`"
    return f"`{value:g}`" if isinstance(value, int | float) and not isinstance(value, bool) else f"`{value}`"


def _notes(kind: type[StrEnum]) -> dict[str, str]:
    """Return what the comments beside the members of an enumeration say."""
    found = re.findall(r'^\s+(\w+) = "[^"]*"(?:  # (.*))?$', inspect.getsource(kind), re.MULTILINE)
    return dict(found)


def _exit_rows() -> list[tuple[str, ...]]:
    words = {
        "OK": "it worked",
        "FAILED": "the run failed or was stopped, or something else went wrong",
        "USAGE": "the command line or the pipeline file is wrong; nothing was queued",
        "REFUSED": "a rule refused it; nothing was queued",
        "NOT_FOUND": "a name, file, run, model or dataset does not exist",
        "NOT_ALLOWED": "the caller may not do this",
        "GATE": "a check did not pass",
        "TIMED_OUT": "`tw wait --timeout` gave up; the run goes on",
        "INTERRUPTED": "Ctrl-C or a closed terminal; a run that was followed goes on",
    }
    return [(f"`{getattr(exits, name)}`", name.lower().replace("_", " "), text) for name, text in words.items()]


def _commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - typer's own click has no public types
    """Yield every command that is shown, with the words to type."""
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    if not inner or words == "tw":
        yield words, command
    for name, below in inner.items():
        if not below.hidden:
            yield from _commands(f"{words} {name}", below)


def _command_parts(words: str, command: Any) -> list[str]:  # noqa: ANN401
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts]
    usage = [words, *(_shown(p) for p in arguments), *(["[OPTIONS]"] if options else [])]
    usage += ["COMMAND"] if getattr(command, "commands", {}) else []
    parts = [f"### `{words}`", _text(command.help), f"```text\n{' '.join(usage)}\n```"]
    rows = [(f"`{_name(p)}`", _text(p.help)) for p in arguments]
    rows += [(_spelling(p), _text(p.help) + _default(p)) for p in options]
    return [*parts, table(("argument or option", "means"), rows)] if rows else parts


def _name(parameter: Any) -> str:  # noqa: ANN401
    return str(parameter.metavar or parameter.name.upper())


def _shown(parameter: Any) -> str:  # noqa: ANN401
    return _name(parameter) if parameter.required else f"[{_name(parameter)}]"


def _spelling(parameter: Any) -> str:  # noqa: ANN401
    names = ", ".join(f"`{name}`" for name in sorted(parameter.opts, key=len))
    return names if parameter.is_flag else f"{names} `{parameter.metavar or parameter.name.upper()}`"


def _default(parameter: Any) -> str:  # noqa: ANN401
    value = parameter.default
    return f" Default: `{value}`." if isinstance(value, str | int) and not isinstance(value, bool) and value else ""


def _text(text: str | None) -> str:
    return " ".join((text or "").split())


def _braces(text: str) -> str:
    """Show what is filled in as italics, and doubled braces as single ones."""
    kept = text.replace("{{", "\x01").replace("}}", "\x02")
    kept = re.sub(
        r"\$\x01\x01 (.*?) \x02\x02", lambda found: f"`${{{{ {found[1].replace('{', '').replace('}', '')} }}}}`", kept
    )
    kept = re.sub(r"(?<![`{])\{(\w+)\}", r"*\1*", kept)
    return kept.replace("\x01", "{").replace("\x02", "}")


def _exit_codes_by_error() -> dict[str, set[int]]:
    """Return the exit codes of each error code, from the places in the source that raise it."""
    found: dict[str, set[int]] = {code: {number} for code, number in _EDGE.items()}
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                code, number = _code_in(node), _exit_of(_called(node))
                if code and number is not None:
                    found.setdefault(code, set()).add(number)
    return found


def _called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _code_in(call: ast.Call) -> str:
    values = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return next((value for value in values if value in CODES), "")


def _exit_of(name: str) -> int | None:
    kinds = {kind.__name__: kind for kind in _all_errors(TrainwrightError)}
    if name in kinds:
        return exits.exit_code(kinds[name]("", ""))
    if name in _SPEC:
        return exits.USAGE
    return None


def _all_errors(kind: type[TrainwrightError]) -> Iterator[type[TrainwrightError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all_errors(below)


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main() -> int:
    """Write the pages, or with ``--check`` name the stale ones and return 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is not current")
    old = stale()
    if parser.parse_args().check:
        for path in old:
            print(f"docs/{path} is not current: run python docs/generate.py", file=sys.stderr)
        return 1 if old else 0
    for path in old:
        (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / path).write_text(pages()[path], encoding="utf-8")
        print(f"wrote docs/{path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
