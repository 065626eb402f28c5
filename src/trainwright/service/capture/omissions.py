"""What never travels with the code: our own state, clutter, secrets, and what ``.twignore`` lists.

``.twignore`` has the syntax and the precedence of ``.gitignore`` (gitignore(5); no ``[[:alpha:]]``). It is matched here
and not by git: so it means the same outside a repository, and may also name tracked files, which git would not ignore.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from trainwright.core.errors import Position, SpecError

IGNORE_FILE = ".twignore"
STATE_FOLDER = ".trainwright"
_CLUTTER = frozenset(
    {
        *(".git", ".hg", ".svn", STATE_FOLDER, ".venv", "venv", "node_modules", "__pycache__", ".DS_Store"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".ipynb_checkpoints", ".tox", ".nox"),
    }
)
_CLUTTER_ENDS = (".pyc", ".pyo")
_VENV_MARK = "pyvenv.cfg"
_STATE_MARK = "state.db"
"""What the state folder holds wherever TW_HOME has put it."""

_SECRETS = (
    *(".env", ".env.*", ".netrc", "_netrc", ".pypirc", ".git-credentials", ".htpasswd"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks"),
    *("credentials*.json", "service-account*.json", "service_account*.json", "client_secret*.json"),
)
_SECRET_FOLDERS = frozenset({".aws", ".ssh", ".gnupg"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a ``.twignore``.

    Attributes:
        base: folder of the file with a slash at its end; empty at the top.
        pattern: matches the rest of a path after ``base``.
        only_folders: whether the line ends in a slash.
        negated: whether it brings back what an earlier line left out.
    """

    base: str
    pattern: re.Pattern[str]
    only_folders: bool
    negated: bool


def is_clutter(name: str) -> bool:
    """Tell whether a file or folder of this name is left out wherever it is, unless git tracks it."""
    return name in _CLUTTER or name.endswith(_CLUTTER_ENDS)


def is_secret(path: str) -> bool:
    """Tell whether a file that git does not track looks like a credential, by its name."""
    *folders, name = path.lower().split("/")
    return any(fnmatchcase(name, secret) for secret in _SECRETS) or not _SECRET_FOLDERS.isdisjoint(folders)


def stands_apart(names: Iterable[str]) -> bool:
    """Tell whether the folder that holds these names is a virtual environment or a state folder of ours."""
    return _VENV_MARK in names or (_STATE_MARK in names and ".gitignore" in names)


def own_state(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those paths that do not lie in a ``.trainwright`` folder."""
    return tuple(path for path in paths if STATE_FOLDER not in path or STATE_FOLDER not in path.split("/"))


def without_clutter(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those paths, of files git does not track, that are no clutter, no secret and in no environment."""
    paths = tuple(paths)
    environments = tuple(path.removesuffix(_VENV_MARK) for path in paths if path.endswith("/" + _VENV_MARK))
    return tuple(
        path
        for path in paths
        if not (path.startswith(environments) or any(map(is_clutter, path.split("/"))) or is_secret(path))
    )


def read_rules(top: Path, path: str) -> tuple[Rule, ...]:
    """Return the rules of the ``.twignore`` at ``path`` under ``top``, in order.

    Raises:
        SpecError: TW2203 it cannot be read; TW2206 a line is no pattern.
    """
    try:
        text = (top / path).read_text("utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise SpecError("TW2203", f"{path} cannot be read: {error.strerror}", where=str(top)) from error
    base = path.removesuffix(IGNORE_FILE)
    rules = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            rule = parse_rule(line.removesuffix("\r"), base)
        except re.error as error:
            where = Position(str(top / path), number, 1)
            remedy = "write it as for .gitignore; put \\ before a character that is meant as itself"
            raise SpecError("TW2206", f"{line!r} is no pattern: {error}", where=where, remedy=remedy) from error
        rules += [rule] if rule else []
    return tuple(rules)


def parse_rule(line: str, base: str = "") -> Rule | None:
    """Return the rule of one line; None for a comment or an empty line.

    Raises:
        re.error: the line is no pattern.
    """
    text = re.sub(r"(?<!\\) +$", "", line)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    only_folders = text.endswith("/")
    text = text.rstrip("/") if only_folders else text
    # A slash anywhere but at the end ties the pattern to its own folder.
    anywhere = "/" not in text
    return Rule(base, re.compile(_regex(text.removeprefix("/"), anywhere=anywhere), re.DOTALL), only_folders, negated)


def leaves_out(rules: tuple[Rule, ...], path: str, *, folder: bool) -> bool:
    """Tell whether the last rule that matches ``path`` itself leaves it out; folders above it are not looked at."""
    for rule in reversed(rules):
        applies = path.startswith(rule.base) and (folder or not rule.only_folders)
        if applies and rule.pattern.fullmatch(path, len(rule.base)):
            return not rule.negated
    return False


def without_ignored(rules: tuple[Rule, ...], paths: Iterable[str]) -> tuple[str, ...]:
    """Return those paths that no rule leaves out, neither themselves nor a folder above them.

    Args:
        rules: those of the top first, those of deeper folders after them.
        paths: of files.
    """
    known = {"": False}

    def is_out(folder: str) -> bool:
        if folder not in known:
            known[folder] = is_out(folder.rpartition("/")[0]) or leaves_out(rules, folder, folder=True)
        return known[folder]

    if not rules:
        return tuple(paths)
    return tuple(p for p in paths if not (is_out(p.rpartition("/")[0]) or leaves_out(rules, p, folder=False)))


_TOKEN = re.compile(
    r"(?P<start>^\*\*/)|(?P<middle>/\*\*(?=/))|(?P<end>/\*\*$)|(?P<stars>\*+)|(?P<one>\?)"
    r"|\[(?P<set>[!^]?\]?(?:\\.|[^\]\\])*)\]|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)


def _regex(glob: str, *, anywhere: bool) -> str:
    parts = ["(?:.*/)?"] if anywhere else []
    for token in _TOKEN.finditer(glob):
        text = token[0]
        match token.lastgroup:
            case "start":
                parts.append("(?:.*/)?")
            case "middle":
                parts.append("(?:/.*)?")
            case "end":
                parts.append("/.+")
            case "stars":
                parts.append("[^/]*")
            case "one":
                parts.append("[^/]")
            case "set":
                parts.append(_set(token["set"]))
            case "escaped":
                parts.append(re.escape(token["escaped"]))
            case _:
                parts.append(re.escape(text))
    return "".join(parts)


def _set(inner: str) -> str:
    negated = inner.startswith(("!", "^"))
    inner = inner[1:] if negated else inner
    # "[" and a leading "]" are plain in a glob, but not in a regular expression.
    inner = re.sub(r"\\(.)|^\]|[\[&|~]", lambda found: re.escape(found[1] or found[0]), inner)
    return f"(?!/)[{'^' if negated else ''}{inner}]"
