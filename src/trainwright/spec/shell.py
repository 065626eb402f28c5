"""References in a shell script: each becomes an environment variable, so that its value arrives as data.

Bare, a reference turns into ``"$TW_REF_1"``; inside double quotes into ``${TW_REF_1}``. Where a shell would take the
variable as text to run, or not expand it at all, it is refused or warned of. The scan follows POSIX 2.2 (quoting),
2.6.3 (command substitution) and 2.7.4 (here-documents) as far as quotes need it.
"""

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache

from trainwright.spec.references import OPEN, Reference, reference_at

_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([^\s;|&<>()'\"]+))")
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh"}


class _In(Enum):
    """What encloses the character being read."""

    TOP = auto()
    DOUBLE = auto()  # "…"
    COMMAND = auto()  # $(…) or (…)
    TICKS = auto()  # `…`
    BRACE = auto()  # ${…}
    ARITHMETIC = auto()  # $((…)) or ((…))


@dataclass(frozen=True, slots=True)
class Remark:
    """A reference that the shell would not take as data.

    Attributes:
        severe: an error; otherwise a warning.
    """

    reference: Reference
    message: str
    remedy: str
    severe: bool = True


@dataclass(frozen=True, slots=True)
class Script:
    """A script with its references replaced.

    Attributes:
        text: for the shell.
        variables: reference n stands in ``TW_REF_{n+1}``.
    """

    text: str
    variables: tuple[Reference, ...]
    remarks: tuple[Remark, ...]


@lru_cache(maxsize=1 << 14)  # the compiler asks several times for each step; a large plan has ten thousand
def rewrite(script: str) -> Script:
    """Replace every reference of a shell script; equal references share a variable.

    Raises:
        ReferenceSyntaxError: a ``${{`` that is not a reference.
    """
    scan = _Scan(script)
    while scan.here < len(script):
        scan.step()
    return Script("".join(scan.out), tuple(scan.variables), tuple(scan.remarks))


@dataclass(slots=True)
class _Scan:
    """Reads a script once, from left to right."""

    script: str
    here: int = 0
    out: list[str] = field(default_factory=list)
    inside: list[_In] = field(default_factory=lambda: [_In.TOP])
    variables: list[Reference] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    pending: list[tuple[str, bool]] = field(default_factory=list)  # here-documents: their end, whether tabs go
    words: list[str] = field(default_factory=list)  # of the command being read
    word: str = ""

    def step(self) -> None:
        """Read one character, or one construct that hides what follows."""
        text, here = self.script, self.here
        if text.startswith("$" + OPEN, here):
            self.copy(4, skip=1)
        elif text.startswith(OPEN, here):
            self.reference()
        elif text[here] == "\\":
            self.backslash()
        elif self.quoting() is _In.DOUBLE:
            self.in_double(text[here])
        else:
            self.in_bare(text[here])

    def copy(self, count: int, *, skip: int = 0) -> None:
        """Take over ``count`` characters without the first ``skip``."""
        taken = self.script[self.here + skip : self.here + count]
        self.out.append(taken)
        self.word += taken
        self.here += count

    def quoting(self) -> _In:
        """Return the innermost context that decides about quotes: ``${…}`` keeps the one around it."""
        return next(kind for kind in reversed(self.inside) if kind is not _In.BRACE)

    def backslash(self) -> None:
        if self.script.startswith(OPEN, self.here + 1):
            reference, _ = reference_at(self.script, self.here + 1)
            self.refuse(reference, "stands after a backslash", "write $${{ for the three signs themselves")
        self.copy(1 if self.script.startswith(OPEN, self.here + 1) else 2)

    def in_double(self, sign: str) -> None:
        if sign == '"':
            if self.inside[-1] is _In.BRACE:  # "${a:-"b"}": the quotes nest
                self.open(_In.DOUBLE, 1)
            else:
                self.close(1)
        elif not self.opens_substitution() and not self.closes(sign):
            self.copy(1)

    def in_bare(self, sign: str) -> None:
        if sign == "'":
            self.single(1)
        elif self.script.startswith("$'", self.here):
            self.single(2)
        elif sign == '"':
            self.open(_In.DOUBLE, 1)
        elif sign == "#" and not self.word and self.inside[-1] is not _In.BRACE:
            self.comment()
        elif self.script.startswith("<<<", self.here):
            self.copy(3)
        elif self.script.startswith("<<", self.here) and _In.ARITHMETIC not in self.inside:
            self.here_document()
        elif not self.opens_substitution() and not self.closes(sign):
            self.plain(sign)

    def plain(self, sign: str) -> None:
        if sign == "(" and self.inside[-1] is not _In.BRACE:
            arithmetic = self.script.startswith("((", self.here)
            self.open(_In.ARITHMETIC if arithmetic else _In.COMMAND, 2 if arithmetic else 1)
            self.end_command()
            return
        self.copy(1)
        if sign in ";&|\n()" and self.inside[-1] is not _In.BRACE:
            self.end_command()
            if sign == "\n":
                self.here_bodies()
        elif sign in " \t":
            self.end_word(1)

    def opens_substitution(self) -> bool:
        """Enter ``$((``, ``$(``, ``${`` or a backtick; tell whether there was one."""
        for mark, kind in (("$((", _In.ARITHMETIC), ("$(", _In.COMMAND), ("${", _In.BRACE)):
            if self.script.startswith(mark, self.here):
                self.open(kind, len(mark))
                return True
        if self.script[self.here] == "`" and _In.TICKS not in self.inside:
            self.open(_In.TICKS, 1)
            return True
        return False

    def closes(self, sign: str) -> bool:
        """Leave the innermost context if ``sign`` ends it."""
        last = self.inside[-1]
        if last is _In.ARITHMETIC and self.script.startswith("))", self.here):
            self.close(2)
            return True
        if (sign, last) in {(")", _In.COMMAND), ("`", _In.TICKS), ("}", _In.BRACE)}:
            self.close(1)
            return True
        return False

    def open(self, kind: _In, count: int) -> None:
        self.inside.append(kind)
        self.copy(count)
        if kind in {_In.COMMAND, _In.TICKS}:
            self.word = ""

    def close(self, count: int) -> None:
        self.inside.pop()
        self.copy(count)

    def single(self, opening: int) -> None:
        """Copy a single-quoted text, in which nothing is expanded."""
        escapes = self.script[self.here] == "$"  # $'…' knows \\'
        end = self.here + opening
        while end < len(self.script) and self.script[end] != "'":
            end += 2 if escapes and self.script[end] == "\\" else 1
        self.frozen(min(end + 1, len(self.script)), "inside single quotes", self.single_remedy())

    def single_remedy(self) -> str:
        if self.runs_text():
            return "pass it as an argument of the inner shell: bash -c 'echo \"$1\"' _ ${{ … }}"
        return "write it outside the quotes as an argument of its own, or put it under env:"

    def comment(self) -> None:
        end = self.script.find("\n", self.here)
        self.out.append(self.script[self.here : end if end >= 0 else None])
        self.here = end if end >= 0 else len(self.script)

    def here_document(self) -> None:
        match = _HERE.match(self.script, self.here)
        if match is None:
            self.copy(2)
            return
        self.pending.append((match[2] or match[3] or match[4], bool(match[1])))
        self.copy(match.end() - self.here)

    def here_bodies(self) -> None:
        """Copy the here-documents that begin after this line."""
        for end, strip in self.pending:
            here = self.here
            while here < len(self.script):
                stop = self.script.find("\n", here)
                stop = len(self.script) if stop < 0 else stop
                line = self.script[here:stop]
                here = min(stop + 1, len(self.script))
                if (line.lstrip("\t") if strip else line) == end:
                    break
            self.frozen(here, "inside a here-document", "set a variable before it: X=${{ … }}, and use $X there")
        self.pending.clear()
        self.word = ""

    def frozen(self, end: int, place: str, remedy: str) -> None:
        """Copy up to ``end``, refusing every reference on the way."""
        while self.here < end:
            if self.script.startswith("$" + OPEN, self.here):
                self.copy(4, skip=1)
            elif self.script.startswith(OPEN, self.here):
                reference, after = reference_at(self.script, self.here)
                self.refuse(reference, f"stands {place}", remedy)
                self.copy(after - self.here)
            else:
                self.copy(1)

    def refuse(self, reference: Reference, place: str, remedy: str) -> None:
        self.remarks.append(Remark(reference, f"{reference} {place}", remedy))

    def reference(self) -> None:
        reference, after = reference_at(self.script, self.here)
        self.here = after
        if _In.ARITHMETIC in self.inside:
            remedy = "compute it in your program, or give the result a parameter of its own"
            self.refuse(reference, "stands inside shell arithmetic", remedy)
        elif self.runs_text():
            message = f"{reference} becomes part of a text that another shell runs"
            self.remarks.append(Remark(reference, message, "pass it as an argument instead", severe=False))
        names = [(known.name, known.field) for known in self.variables]
        if (reference.name, reference.field) not in names:
            self.variables.append(reference)
            names.append((reference.name, reference.field))
        variable = f"TW_REF_{names.index((reference.name, reference.field)) + 1}"
        self.out.append(f"${{{variable}}}" if self.quoting() is _In.DOUBLE else f'"${variable}"')
        self.word += variable

    def runs_text(self) -> bool:
        """Tell whether the word being read is run as a command by another shell."""
        names = [word.strip("\"'").rpartition("/")[2] for word in self.words]
        if "eval" in names or "ssh" in names:
            return True
        flags = len(names) > 1 and re.fullmatch(r"-[a-z]*c", names[-1]) is not None
        return flags and any(name in _SHELLS for name in names[:-1])

    def end_word(self, blank: int) -> None:
        word = self.word[: len(self.word) - blank]
        if word:
            self.words.append(word)
        self.word = ""

    def end_command(self) -> None:
        self.word = ""
        self.words.clear()
