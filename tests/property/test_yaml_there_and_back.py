"""Documents written as YAML and read again: the same values, the same text."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from trainwright.core.scalar import Plain
from trainwright.spec.reader import read
from trainwright.spec.write import write

TRICKY = [
    *("", "~", "no", "null", "true", "1e-4", "010", "22:30", "2026-03-29", ".5", "<<", "- a", "? a", "---", "..."),
    *(
        "a: b",
        "a:",
        "a #b",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "|",
        ">",
        "'a'",
        '"a"',
        "${{ x.y }}",
        "[a]",
        "{a}",
        "a,b",
    ),
    *(
        "a\n b\n",
        "a\n\n\n",
        "\na",
        " a",
        "a ",
        "\ta\nb",
        "a\t\nb",
        "a\n ",
        "\u0085a",
        "a\u2028b",
        "\ufeff",
        "\x00",
        "\x7f",
    ),
]
texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(TRICKY)
keys = texts.map(lambda text: unicodedata.normalize("NFC", text))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
documents = st.dictionaries(
    keys,
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=10,
    ),
    min_size=1,
    max_size=4,
)


@given(documents)
def test_what_is_written_is_read_as_it_was(document: dict[str, Plain]) -> None:
    text = write(document)
    again = read(text, "f").value
    assert repr(again) == repr(document)  # repr tells 1 from 1.0 and from True
    assert isinstance(again, dict)
    assert write(again) == text
