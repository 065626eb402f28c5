"""What a command starts, when it is one plain call of Python; and why not, when it is not. Pure."""

import re
import shlex
from dataclasses import dataclass

from trainwright.core.job import Command, Template

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_FLAGS = re.compile(r"-[bBdEIOqsSuvx]+")
_WITH_VALUE = frozenset({"-W", "-X"})
_REFERENCE = re.compile(r'"\$TW_REF_\d+"|\$\{TW_REF_\d+\}|\$TW_REF_\d+')
_VALUE = "\x00"
"""Stands for a value that is known only when the command runs."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of Python.

    Attributes:
        script: path from where the command starts; empty when it is a module.
        module: dotted name; empty when it is a script.
        arguments: that follow; the character NUL stands for a value that is known only at run time.
    """

    script: str = ""
    module: str = ""
    arguments: tuple[str, ...] = ()


def invocation_of(command: Command) -> Invocation | str:
    """Return the call of Python that a command is, or why it is something else: ``several commands``."""
    if command.shell is None:
        return _call([_literal(template) for template in command.argv])
    text = _REFERENCE.sub(_VALUE, command.shell.replace("\\\n", " ")).strip()
    if set(text) & set("$`"):
        return "the shell fills something in"
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return "not one plain command"
    if "\n" in text or any(set(word) <= set("();<>|&") for word in words):
        return "not one plain command"
    if any(set(word) & set("*?[{~#") for word in words):
        return "the shell fills something in"
    return _call(words)


def _call(words: list[str]) -> Invocation | str:
    if not words or not _PYTHON.fullmatch(words[0]):
        return "not a call of python"
    rest = words[1:]
    while rest and (_FLAGS.fullmatch(rest[0]) or rest[0] in _WITH_VALUE):
        rest = rest[2 if rest[0] in _WITH_VALUE else 1 :]
    if rest[:1] == ["-m"] and len(rest) > 1 and _VALUE not in rest[1]:
        return Invocation(module=rest[1], arguments=tuple(rest[2:]))
    if not rest or rest[0].startswith("-") or _VALUE in rest[0]:
        return "python is not given a script"
    return Invocation(script=rest[0], arguments=tuple(rest[1:]))


def _literal(template: Template) -> str:
    return "".join(_VALUE if part.ref else part.text for part in template)
