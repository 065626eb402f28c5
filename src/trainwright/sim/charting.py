"""Charts as a file: a page, a drawing, or a picture where something is installed that makes one."""

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from trainwright.core.errors import SpecError
from trainwright.sim.figures import Side
from trainwright.sim.mistakes import wrong
from trainwright.sim.page import page, picture

SUFFIXES = (".html", ".svg", ".png")
_DRAWER = "cairosvg"


def check_name(name: str) -> None:
    """Return when a file of this name can be written, or none is asked for.

    Raises:
        SpecError: its suffix says something else, or it is a picture and nothing here makes one.
    """
    if not name:
        return
    if Path(name).suffix not in SUFFIXES:
        wrong("--plot", f"{name} is none of {', '.join(SUFFIXES)}", remedy="write --plot simulation.html")
    if Path(name).suffix == ".png":
        try:
            import_module(_DRAWER)
        except (ImportError, OSError):
            remedy = f"write --plot {Path(name).with_suffix('.svg')}, or: pip install {_DRAWER}"
            wrong("--plot", f"a PNG needs {_DRAWER}, which is not installed", remedy=remedy)


def write(path: Path, name: str, sides: Sequence[Side], about: str) -> None:
    """Write the charts of one simulation or of two.

    Args:
        path: of the file; an older one is replaced.
        name: as the person typed it.
        sides: before and after, or the only one.
        about: what was simulated.

    Raises:
        SpecError: it cannot be written.
    """
    if path.suffix == ".html":
        made = page("Simulation", sides, (about,)).encode()
    elif path.suffix == ".svg":
        made = picture(sides).encode()
    else:
        made = import_module(_DRAWER).svg2png(bytestring=picture(sides).encode(), scale=2)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(made)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise SpecError("TW2110", f"{name} cannot be written: {error.strerror}") from error
