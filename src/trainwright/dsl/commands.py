"""Steps that are no functions: commands, launched scripts, registrations, checks of data, other pipelines."""

from __future__ import annotations

import re

from trainwright.dsl.drawing import drawing, keys_of, plain
from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import caller
from trainwright.dsl.references import Outputs, Reference, bare
from trainwright.dsl.steps import results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = re.compile(r"(?<!\$)\$\{\{\s*([^\s.{}]+)\s*\}\}")
_REGISTER = "register"
_CHECK_DATA = "check_data"


def command(text: str | list[Any], /, *, name: str = "", **keys: Any) -> Reference | Outputs:
    """Add a step that is a command: ``tw.command("python eval.py --model ${{ model }}", model=model, out=…)``.

    Args:
        text: for the shell, or a list that is executed without one; a name in ``${{ }}`` is bound by keyword.
        name: of the step; that of the script by default.
        keys: what the names in the text stand for, and keys of a step as YAML has them (see :func:`trainwright.step`).

    Raises:
        PipelineError: a name in the text is not bound.
    """
    drawing("tw.command")
    words = text if isinstance(text, (list, tuple)) else [text]
    bound, run = _bind([word if isinstance(word, str) else _word(word) for word in words], keys)
    step = {"run": run if isinstance(text, (list, tuple)) else run[0]}
    return _add(name or _name_of(run), {**step, **keys_of(_without(keys, bound))}, keys)


def torchrun(script: str, /, *, workers: int | str = 1, name: str = "", **keys: Any) -> Reference | Outputs:
    """Add a step that torchrun launches: ``tw.torchrun("train.py --data ${{ raw }}", raw=raw, workers=2, gpu=4)``.

    Args:
        script: a Python script and its arguments; names in ``${{ }}`` are bound by keyword.
        workers: machines, all or none; ``"2..8"`` is elastic.
        name: of the step; that of the script by default.
        keys: as for :func:`trainwright.command`.

    Raises:
        PipelineError: a name in the text is not bound.
    """
    drawing("tw.torchrun")
    bound, run = _bind([script], keys)
    step = {"script": run[0], "launcher": "torchrun", "workers": workers}
    return _add(name or _name_of(run), {**step, **keys_of(_without(keys, bound))}, keys)


def register(
    model: Any,
    /,
    *,
    name: str,
    alias: str = "",
    signature: dict[str, dict[str, str]] | None = None,
    card: Any = "",
    step: str = _REGISTER,
    **keys: Any,
) -> Outputs:
    """Add a step that registers a model; only after every check made on it has passed.

    Args:
        model: an output of kind ``model``.
        name: in the registry.
        alias: moved to the new version.
        signature: what the model takes and gives: ``{"inputs": {name: type}, "outputs": {name: type}}``.
        card: output of the model's maker with its author's text, or its name there.
        step: name of the step.
        keys: of a step as YAML has them: ``when``, ``depends_on``, ``on_fail``, ``help``.
    """
    under_way = drawing("tw.register")
    text = card if isinstance(card, str) else _reference(card, "the card")
    more = {"alias": alias, "signature": signature, "card": text}
    given = {"model": _reference(model, "the model"), "name": name, **{k: v for k, v in more.items() if v}}
    place = caller()
    added = {"uses": _REGISTER, "with": given, **keys_of(keys)}
    return Outputs(under_way.add(step, added, {"": place, **dict.fromkeys(added, place)}), ())


def check_data(
    table: Any,
    /,
    *,
    expect: dict[str, Any] | None = None,
    against: Any = None,
    step: str = _CHECK_DATA,
    options: dict[str, Any] | None = None,
    **keys: Any,
) -> Outputs:
    """Add a step that holds a table against expectations and an earlier table; what it finds are its metrics.

    Args:
        table: an output or data.
        expect: of the table, as in YAML: ``{"columns": {"age": {"range": [0, 120]}}, "rows": [1000, None]}``.
        against: an earlier table; how far columns have moved from it are metrics too.
        step: name of the step.
        options: further entries of ``with:``: ``name``, ``columns``, ``bins``.
        keys: of a step as YAML has them: ``check``, ``when``, ``for_each``, ``retry`` …
    """
    under_way = drawing("tw.check_data")
    given: dict[str, Any] = {"table": _reference(table, "the table")}
    if expect is not None:
        given["expect"] = plain(expect, "expect")
    if against is not None:
        given["against"] = _reference(against, "against")
    given.update({name: plain(value, name) for name, value in (options or {}).items()})
    place = caller()
    added = {"uses": _CHECK_DATA, "with": given, **keys_of(keys)}
    return Outputs(under_way.add(step, added, {"": place, **dict.fromkeys(added, place)}), ())


def use(file: str, /, *, name: str = "", options: dict[str, Any] | None = None, **arguments: Any) -> Outputs:
    """Add another pipeline as one step: ``tw.use("./other.yaml", table=table, C=0.5, name="sub")``.

    Args:
        file: of the pipeline, relative to this one's file.
        name: of the step; that of the file by default.
        options: keys of a step as YAML has them, such as ``{"when": "prep.rows > 0"}``.
        arguments: its data and parameters.

    Returns:
        Its outputs, by attribute.
    """
    under_way = drawing("tw.use")
    place = caller()
    stem = file.rpartition("/")[2].partition(".")[0]
    keys = keys_of(options or {})
    made = under_way.add(name or stem, {"uses": file, **keys}, {"": place, "uses": place, **dict.fromkeys(keys, place)})
    if arguments:
        under_way.places[f"steps.{made}.with"] = place
        under_way.arguments(made, arguments)
    return Outputs(made, None)


def _add(name: str, step: dict[str, Any], keys: dict[str, Any]) -> Reference | Outputs:
    under_way = drawing("a step")
    place = caller()
    made = under_way.add(name, step, {"": place, **dict.fromkeys(step, place)})
    return results(made, keys.get("out"))


def _bind(words: list[Any], keys: dict[str, Any]) -> tuple[set[str], list[Any]]:
    """Return the names that the words use, and the words with ``${{ step.output }}`` in their places."""
    bound: set[str] = set()

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name not in keys:
            message = f"the name {name} in the command is not bound"
            raise PipelineError("TW1110", message, where=caller(), remedy=f"add {name}=… after the text")
        bound.add(name)
        return f"${{{{ {_reference(keys[name], name)} }}}}"

    return bound, [_NAME.sub(replaced, word) if isinstance(word, str) else word for word in words]


def _reference(value: Any, name: str) -> str:
    found = bare(value)
    if found is None:
        raise PipelineError(
            "TW1110",
            f"{name} = {value!r} is no output, data or parameter",
            where=caller(),
            remedy="write the value into the text itself, or declare it as a parameter of the pipeline",
        )
    return found


def _word(word: Any) -> Any:
    reference = bare(word)
    return f"${{{{ {reference} }}}}" if reference else plain(word, "an argument of the command")


def _without(keys: dict[str, Any], bound: set[str]) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if key not in bound}


def _name_of(words: list[Any]) -> str:
    """Return the name of the script in a command, else of its program."""
    parts = [part for word in words for part in str(word).split()]
    script = next((part for part in parts if part.endswith(".py")), parts[0] if parts else "command")
    return script.rpartition("/")[2].partition(".")[0].strip("\"'") or "command"
