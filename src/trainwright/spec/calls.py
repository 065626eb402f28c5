"""``call:`` steps: the function that is named, and its arguments under ``with:``, each a value or a reference."""

import unicodedata
from collections.abc import Mapping

from trainwright.core.artifact import ArtifactKind
from trainwright.spec.arguments import literal_of
from trainwright.spec.findings import WrongValueError, show
from trainwright.spec.params import refuse_unfinite

CHECK_DATA = "check_data"
"""What ``uses:`` says of a step that checks data; it is a call of ours."""

CHECK_DATA_TARGET = "trainwright.runtime.check_data:check_data"

CHECKED_TABLES = ("table", "against")
"""Keys of such a step's ``with:`` that name an output of a step, or data."""


def check_target(text: str) -> str:
    """Return ``package.module:function`` in Unicode's composed form.

    Raises:
        WrongValueError: it is not of that form.
    """
    target = unicodedata.normalize("NFC", text)
    module, colon, function = target.partition(":")
    if colon and _is_dotted(module) and _is_dotted(function):
        return target
    remedy = "write the module, a colon and the function, as in call: training:fit"
    if text.endswith(".py") or "/" in text:
        remedy += "; a script is run with run: python …"
    raise WrongValueError("TW1101", f"{show(text)} does not name a function", remedy=remedy)


def clashes_of_call(
    name: str,
    call: str | None,
    runs: bool,  # noqa: FBT001 - whether there is run: too
    given: Mapping[str, object] | None,
    out: Mapping[str, ArtifactKind],
) -> list[tuple[str, WrongValueError]]:
    """Return what of a command or call does not go together: key below the step, and what is wrong."""
    if call is None:
        return _clashes_of_command(name, given, out)
    found = []
    if runs:
        message = f"step {name} has both run: and call:"
        found.append(("call", WrongValueError("TW1017", message, remedy="keep one of the two")))
    for key, value in (given or {}).items():
        wrong = _wrong_argument(key, value)
        if wrong:
            found.append((f"with.{key}", wrong))
    return found


def clashes_of_warm(name: str, call: str | None, modules: list[str]) -> list[tuple[str, WrongValueError]]:
    """Return what is wrong with ``warm:``: key below the step, and why."""
    if modules and call is None:
        message = f"step {name} has warm: without call:"
        why = "only a function can start in an interpreter that is there already"
        return [("warm", WrongValueError("TW1017", message, why=why, remedy="leave warm: out, or call a function"))]
    remedy = "write names of modules, as in warm: [pandas, sklearn.linear_model]"
    wrong = (module for module in modules if not module.isascii() or not _is_dotted(module))
    return [("warm", WrongValueError("TW1015", f"{show(m)} is not the name of a module", remedy=remedy)) for m in wrong]


def _clashes_of_command(
    name: str, given: Mapping[str, object] | None, out: Mapping[str, ArtifactKind]
) -> list[tuple[str, WrongValueError]]:
    found = []
    if given is not None:
        message = f"step {name} has with: without uses: or call:"
        found.append(("with", WrongValueError("TW1017", message, remedy="leave it out")))
    for key in (key for key, kind in out.items() if kind is ArtifactKind.PICKLE):
        message = f"step {name} is a command, and its output {key} is a pickle"
        why = "only what a function step has pickled is ever loaded from a pickle"
        found.append((f"out.{key}", WrongValueError("TW1017", message, why=why, remedy="declare it as file or model")))
    return found


def _wrong_argument(key: str, value: object) -> WrongValueError | None:
    if not key.isidentifier():
        remedy = "use the names of the function's parameters"
        return WrongValueError("TW1015", f"{key[:70]!r} cannot be the name of an argument", remedy=remedy)
    try:
        refuse_unfinite(literal_of(value))  # type: ignore[arg-type]  # Plain by the reader
    except WrongValueError as wrong:
        wrong.message = f"{key}: {wrong.message}"
        return wrong
    return None


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
