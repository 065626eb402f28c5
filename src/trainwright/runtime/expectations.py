"""What people expect of a table, in plain words, as a schema of pandera.

``{"columns": {"age": {"type": "int", "range": [0, 120], "nulls": 0.01}}, "rows": [1000, null]}``. Null is what pandas
takes for missing, so NaN in a column of floats is null. All but ``nulls`` is asked of values that are there.
"""

from __future__ import annotations

import re

from trainwright.runtime.formats import RefusedValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

TABLE_WORDS = ("columns", "only", "rows", "unique")
COLUMN_WORDS = ("in", "length", "nulls", "optional", "pattern", "range", "type", "unique")
TYPES = ("bool", "datetime", "float", "int", "str")
"""``float`` takes any number, ``int`` whole ones, whatever pandas stores them as."""

NULLS, PRESENT = "nulls", "present"


def schema_of(wanted: Mapping[str, Any]) -> Any:
    """Return the pandera schema of expectations.

    Raises:
        RefusedValue: a word is unknown, or pandera is not installed.
    """
    pandera = _pandera()
    _refuse_unknown(wanted, TABLE_WORDS, "the expectations")
    columns = {}
    for name, given in (wanted.get("columns") or {}).items():
        asked = given or {}
        _refuse_unknown(asked, COLUMN_WORDS, f"the column {name}")
        checks = [
            pandera.Check(test, name=word, error=word, ignore_na=word != NULLS, raise_warning=False)
            for word, test in _tests(asked)
        ]
        columns[name] = pandera.Column(checks=checks, nullable=True, required=not asked.get("optional", False))
    checks = []
    if wanted.get("rows") is not None:
        low, high = _ends(wanted["rows"])
        checks.append(pandera.Check(lambda df: _within(len(df), low, high), name="rows", error="rows"))
    if wanted.get("unique"):
        key = list(wanted["unique"])
        checks.append(pandera.Check(lambda df: ~df.duplicated(key), name="unique", error="unique"))
    return pandera.DataFrameSchema(columns, checks=checks, strict=bool(wanted.get("only", False)))


def shown(wanted: Mapping[str, Any], column: str, word: str) -> str:
    """Return what was expected, as it was written: ``range [0, 120]``."""
    asked = wanted if not column else (wanted.get("columns") or {}).get(column) or {}
    if word not in asked:
        return word
    value = asked[word]
    return f"{word} {list(value) if isinstance(value, tuple) else value}"


def words_of(wanted: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is asked: column and word; the column is empty for the table itself."""
    found = [("", word) for word in ("rows", "unique") if wanted.get(word)]
    for name, asked in (wanted.get("columns") or {}).items():
        found += [(name, PRESENT)] if not (asked or {}).get("optional", False) else []
        found += [(name, word) for word, _ in _tests(asked or {})]
    return found


def _pandera() -> Any:
    try:
        import pandera.pandas
    except ImportError as error:
        message = f"data checks need pandera ({error}): pip install trainwright[checks]"
        raise RefusedValue(message, "pip install trainwright[checks], in the environment of the step") from error
    return pandera.pandas


def _refuse_unknown(given: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    from difflib import get_close_matches

    for word in given:
        if word not in known:
            near = get_close_matches(word, list(known), n=1)
            remedy = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise RefusedValue(f"{what}: there is no expectation {word!r}", remedy)


def _tests(asked: Mapping[str, Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the tests of one column, by the word that asks for it: a column → one bool a value, or one for all."""
    found: list[tuple[str, Callable[[Any], Any]]] = []
    if asked.get("type") is not None:
        found.append(("type", _type_test(asked["type"])))
    if asked.get("range") is not None:
        low, high = _ends(asked["range"])
        found.append(("range", lambda values: _all_within(values, low, high)))
    if asked.get("in") is not None:
        allowed = list(asked["in"])
        found.append(("in", lambda values: values.isin(allowed)))
    if asked.get("pattern") is not None:
        pattern = re.compile(asked["pattern"])
        found.append(("pattern", lambda values: values.map(lambda v: bool(pattern.fullmatch(str(v))))))
    if asked.get("length") is not None:
        short, long = _ends(asked["length"])
        found.append(("length", lambda values: _all_within(values.map(lambda v: len(str(v))), short, long)))
    if asked.get("unique"):
        found.append(("unique", lambda values: ~values.duplicated()))
    if asked.get(NULLS) is not None and asked[NULLS] is not True:
        share = float(asked[NULLS])
        found.append((NULLS, lambda values: bool(len(values) == 0 or values.isna().mean() <= share)))
    return found


def _type_test(name: str) -> Callable[[Any], Any]:
    if name not in TYPES:
        raise RefusedValue(f"there is no type {name!r}", f"known: {', '.join(TYPES)}")

    def test(values: Any) -> Any:
        from pandas.api import types

        if name == "datetime":
            good = types.is_datetime64_any_dtype(values)
        elif name == "bool":
            return values.map(lambda v: isinstance(v, bool) or type(v).__name__ in {"bool_", "bool"})
        elif name == "str":
            return values.map(lambda v: isinstance(v, str))
        elif types.is_bool_dtype(values) or not types.is_numeric_dtype(values):
            good = False
        elif name == "int":
            return values % 1 == 0
        else:
            good = True
        return values.map(lambda _: good)

    return test


def _ends(bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:  # noqa: PLR2004 - lowest and highest
        raise RefusedValue(f"{bounds!r} is not [lowest, highest]", "write null for an end that is open")
    return bounds[0], bounds[1]


def _within(value: Any, low: Any, high: Any) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _all_within(values: Any, low: Any, high: Any) -> Any:
    good = values == values  # noqa: PLR0124 - true for all that are there
    if low is not None:
        good &= values >= low
    if high is not None:
        good &= values <= high
    return good
