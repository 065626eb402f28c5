"""Plain values that YAML 1.1 read otherwise: the author is told what they are here."""

import re

_WORDS = re.compile(r"yes|no|on|off|y|n", re.IGNORECASE)
_CLOCK = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?")
_OCTAL = re.compile(r"[-+]?0[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_EXPONENT = re.compile(r"[-+]?[0-9]+([eE][-+]?[0-9]+)|[-+]?[0-9]+\.[0-9]*[eE][0-9]+")


def habit(text: str) -> str:
    """Return a sentence about a plain scalar that is easily misread, or an empty text."""
    if _WORDS.fullmatch(text):
        return f"{text} is text here, not a bool: write true or false, or put it in quotes"
    if _CLOCK.fullmatch(text):
        return f"{text} is text here, not a number of seconds: put it in quotes to say so"
    if _DATE.fullmatch(text):
        return f"{text} is text here, not a date: put it in quotes to say so"
    if _OCTAL.fullmatch(text):
        return f"{text} is the number {int(text)} here, not octal: put it in quotes to keep the zero"
    if _EXPONENT.fullmatch(text):
        return f"{text} is the number {float(text)!r} here, not text: put it in quotes if text is meant"
    return ""
