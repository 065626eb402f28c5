"""What a step with ``uses: check_data`` calls, inside the job: expectations of a table, and drift from another."""

from __future__ import annotations

from trainwright.runtime import calls
from trainwright.runtime.dataset import Dataset
from trainwright.runtime.drift import BINS, drift
from trainwright.runtime.expect import expect
from trainwright.runtime.frames import frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_data(
    table: Dataset,
    against: Dataset | None = None,
    *,
    wanted: dict[str, Any] | None = None,
    columns: list[str] | None = None,
    bins: int = BINS,
    name: str = "table",
) -> None:
    """Log what is found of a table as metrics of the step; its checks decide what follows.

    Raises:
        RefusedValue: it is no table, an expectation is none, or pandera is not installed.
    """
    data = frame(table)
    calls.log(None, rows=len(data))  # what the stage data_preparation owes
    if wanted is not None:
        expect(data, wanted, name=name)
    if against is not None:
        drift(data, against, columns=columns, bins=bins)
