"""Reading the list of a group's members from the output that holds it."""

from collections.abc import Callable

from trainwright.core.errors import TrainwrightError, TransientBackendError
from trainwright.core.ids import Digest, StepName
from trainwright.core.quantity import show_bytes
from trainwright.core.run import RunView
from trainwright.core.scalar import Plain
from trainwright.lifecycle.groups import ListRead
from trainwright.lifecycle.inputs import made
from trainwright.lifecycle.turn import Chance, Turn
from trainwright.plan.plan import Plan, within

LARGEST_BYTES = 64 * 2**20
"""Of the JSON of a list."""


def read_list(plan: Plan, view: RunView, name: StepName, read_value: Callable[[Digest], Plain]) -> ListRead:
    """Return the list over which a group goes; what is wrong with it becomes a sentence.

    Raises:
        TransientBackendError: it cannot be read at this moment.
    """
    group = plan.step(name).group
    over = group.over if group is not None else None
    if over is None or over.step is None:
        raise ValueError(f"the members of {name} are not in a list")
    turn = Turn(plan, view, view.run.submitted_at, Chance(0.0, str), view.run)
    output = made(turn, within(over.step, name), over.output)
    if output is None:
        return ListRead(name, problem="it was not made")
    if output.content.size_bytes > LARGEST_BYTES:
        size, limit = show_bytes(output.content.size_bytes), show_bytes(LARGEST_BYTES)
        return ListRead(name, problem=f"it has {size}, at most {limit} are allowed")
    try:
        return ListRead(name, read_value(output.content.digest))
    except TransientBackendError:
        raise
    except TrainwrightError as error:
        return ListRead(name, problem=error.problem.message)
