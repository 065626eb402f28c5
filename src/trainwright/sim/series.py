"""A quantity over time, kept as means of a few hundred equal spans, however long the time gets."""

MOST_SPANS = 512
"""Beyond that two neighbours become one, each time twice as long."""

FIRST_SPAN_S = 15.0


class Series:
    """A value that stays until it is set again; begins with 0 at second 0.

    Attributes:
        total: the value times the seconds it held, summed up.
    """

    __slots__ = ("_at_s", "_sums", "_value", "span_s", "total")

    def __init__(self) -> None:
        self.span_s = FIRST_SPAN_S
        self.total = 0.0
        self._sums: list[float] = []
        self._at_s = 0.0
        self._value = 0.0

    def set(self, at_s: float, value: float) -> None:
        """Let it have this value from ``at_s`` on, which is not before the last time."""
        if self._value and at_s > self._at_s:
            self._fill(at_s)
        self._at_s, self._value = at_s, value

    def add(self, at_s: float, amount: float) -> None:
        """Let it be more by ``amount`` from ``at_s`` on."""
        self.set(at_s, self._value + amount)

    def means(self, until_s: float, span_s: float) -> tuple[float, ...]:
        """Return the mean of each span up to ``until_s``; ``span_s`` is that of this series or coarser by halvings."""
        self.set(until_s, self._value)
        while self.span_s < span_s:
            self._coarsen()
        count = max(1, -int(-until_s // span_s))
        sums = self._sums + [0.0] * (count - len(self._sums))
        lengths = [min(span_s, until_s - i * span_s) for i in range(count)]
        return tuple(total / length if length > 0 else 0.0 for total, length in zip(sums, lengths, strict=False))

    def _fill(self, to_s: float) -> None:
        while to_s > self.span_s * MOST_SPANS:
            self._coarsen()
        self.total += self._value * (to_s - self._at_s)
        span, at, value, sums = self.span_s, self._at_s, self._value, self._sums
        last = int(to_s // span)
        sums.extend([0.0] * (last + 1 - len(sums)))
        for index in range(int(at // span), last + 1):
            sums[index] += value * (min(to_s, (index + 1) * span) - max(at, index * span))

    def _coarsen(self) -> None:
        sums = self._sums
        self._sums = [sum(sums[i : i + 2]) for i in range(0, len(sums), 2)]
        self.span_s *= 2


def common_span_s(until_s: float) -> float:
    """Return the span that every series can be given in up to ``until_s``."""
    span = FIRST_SPAN_S
    while until_s > span * MOST_SPANS:
        span *= 2
    return span
