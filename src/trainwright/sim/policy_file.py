"""A policy in a YAML file: the sections of ``sched.policy.Policy``, each with those of its rules that are to differ.

A rule whose name ends in ``_s`` is written without that, as a duration: ``half_life: 7d``.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, get_type_hints

from trainwright.core.quantity import duration
from trainwright.sched.policy import DEFAULT_POLICY, Policy
from trainwright.spec.findings import refuse, shape, show, suggest
from trainwright.spec.reader import Tree, read

_CODE = "TW2803"


def policy_of(text: str, file: str) -> Policy:
    """Return the default policy with what a file changes.

    Args:
        text: of the file.
        file: its name as the person typed it.

    Raises:
        SpecError: it is not YAML, names a section or rule that is none, or gives one a value that is none.
    """
    tree = read(text, file)
    sections = {field.name for field in fields(Policy)}
    written = _mapping(tree, "", tree.value, f"sections: {', '.join(sorted(sections))}")
    given: dict[str, Any] = {}
    for name, value in written.items():
        if name not in sections:
            refuse(tree.keys[name], _CODE, f"there is no section {name!r}", remedy=suggest(name, sections, "sections"))
        given[name] = _section(tree, name, value)
    return replace(DEFAULT_POLICY, **given)


def rules_of(section: object) -> dict[str, str]:
    """Return the rules of a section as they are written: name → field."""
    return {field.name.removesuffix("_s"): field.name for field in fields(section)}  # type: ignore[arg-type]  # any of them


def _section(tree: Tree, name: str, value: object) -> object:
    section = getattr(DEFAULT_POLICY, name)
    rules = rules_of(section)
    kinds = get_type_hints(type(section))
    given: dict[str, Any] = {}
    for rule, said in _mapping(tree, name, value, f"rules: {', '.join(sorted(rules))}").items():
        path = f"{name}.{rule}"
        if rule not in rules:
            message = f"{name} has no rule {rule!r}"
            refuse(tree.keys[path], _CODE, message, remedy=suggest(rule, rules, "rules"))
        field = rules[rule]
        try:
            given[field] = _value(said, kinds[field], is_duration=field.endswith("_s"))
        except (ValueError, TypeError) as error:
            refuse(tree.where(path), _CODE, f"{path}: {error}", remedy=f"by itself it is {_shown(section, field)}")
    return replace(section, **given)


def _value(said: object, kind: object, *, is_duration: bool) -> object:
    if is_duration:
        if isinstance(said, bool) or not isinstance(said, int | float | str):
            raise ValueError(f"{show(said)} is not a duration: write it as 30s, 10m or 24h")
        return duration(said).total_seconds()
    if kind not in {bool, str, int, float}:
        raise ValueError("a file cannot change it")
    if kind is bool or kind is str:
        if type(said) is not kind:
            raise ValueError(f"{show(said)} is {shape(said)}")
        return said
    if isinstance(said, bool) or not isinstance(said, int if kind is int else int | float):
        raise ValueError(f"{show(said)} is no {'whole ' if kind is int else ''}number")
    if not 0 <= said < float("inf"):
        raise ValueError(f"{show(said)} is not a number of at least 0")
    return said if kind is int else float(said)


def _mapping(tree: Tree, path: str, value: object, remedy: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        refuse(tree.where(path), _CODE, f"{path or 'a policy'} is {shape(value)}, not a mapping", remedy=remedy)
    return value


def _shown(section: object, field: str) -> str:
    value = getattr(section, field)
    return f"{value:g}s" if field.endswith("_s") else str(value)
