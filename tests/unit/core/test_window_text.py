"""Windows as people write them."""

import pytest

from trainwright.core.window import Window, window_of

ALL = (0, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("text", "window", "shown"),
    [
        ("22:00-06:00 Asia/Shanghai", Window(1320, 360, "Asia/Shanghai"), "22:00-06:00 Asia/Shanghai"),
        ("9:30 - 17:00", Window(570, 1020), "09:30-17:00 UTC"),
        ("Mon-Fri 18:00-08:00 Europe/Berlin", Window(1080, 480, "Europe/Berlin", (0, 1, 2, 3, 4)),
         "Mon-Fri 18:00-08:00 Europe/Berlin"),
        ("sat 00:00-24:00", None, ""),
        ("Sat-Mon 20:00-24:00", Window(1200, 0, "UTC", (0, 5, 6)), "Sat-Mon 20:00-00:00 UTC"),
        ("sun 01:00-02:00", Window(60, 120, "UTC", (6,)), "Sun 01:00-02:00 UTC"),
    ],
)  # fmt: skip
def test_a_window_is_read_and_shown(text: str, window: Window | None, shown: str) -> None:
    if window is None:
        with pytest.raises(ValueError, match="at one time"):
            window_of(text)
        return
    assert window_of(text) == window
    assert str(window) == shown
    assert window_of(shown) == window


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no window"), ("22:00", "is no window"), ("25:00-06:00", "no time of the day 25:00"),
        ("22:60-06:00", "no time of the day 22:60"), ("22:00-06:00 Mars/Olympus", "Mars/Olympus"),
        ("Mon-Xyz 1:00-2:00", "no day 'Xyz'"), ("always", "is no window"),
    ],
)  # fmt: skip
def test_what_is_no_window_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        window_of(text)
