"""How much room a text takes on a screen of cells."""

from unicodedata import combining, east_asian_width


def cell_width(text: str) -> int:
    """Return the columns that a text takes on a screen: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, columns: int, mark: str = "…") -> str:
    """Return a text that takes at most so many columns; what was cut ends with the mark."""
    if cell_width(text) <= columns:
        return text
    kept, room = "", columns - cell_width(mark)
    for character in text:
        room -= cell_width(character)
        if room < 0:
            break
        kept += character
    return kept + mark
