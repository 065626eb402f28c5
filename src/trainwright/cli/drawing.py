"""The graph of a plan, on the terminal or in a file."""

import shutil
import sys
from pathlib import Path

from trainwright.cli import output
from trainwright.cli.graph_text import draw
from trainwright.core.errors import SpecError
from trainwright.notebook.svg import svg
from trainwright.plan.graph import Graph, graph_of
from trainwright.plan.plan import Plan
from trainwright.runtime.atomic import replace

NO_TERMINAL_COLUMNS = 100
"""How wide a drawing may be where there is no terminal."""


def draw_plan(plan: Plan) -> None:
    """Print the graph of a plan, as wide as the terminal at most."""
    columns = shutil.get_terminal_size((NO_TERMINAL_COLUMNS, 24)).columns
    picture = draw(graph_of(plan), columns, sys.stdout.encoding)
    output.put("\n".join(picture.lines))
    if picture.note:
        output.say(picture.note)


def write_svg(plan: Plan, path: Path) -> None:
    """Write the graph of a plan as a picture.

    Raises:
        SpecError: as ``write_picture``.
    """
    write_picture(graph_of(plan, data=True), plan.pipeline, path)


def write_picture(graph: Graph, title: str, path: Path) -> None:
    """Write any graph as a picture.

    Raises:
        SpecError: the file cannot be written.
    """
    try:
        replace(str(path.absolute()), svg(graph, title).encode())
    except OSError as error:
        remedy = "name a file in a folder that you may write"
        raise SpecError("TW2110", f"{path} cannot be written: {error.strerror}", remedy=remedy) from error
    output.say(f"wrote {path}")
