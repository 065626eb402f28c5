"""Runs ``tw run examples/digits/pipeline.yaml`` in a fresh folder and writes what it prints as ``assets/run.svg``.

The picture names no font that would have to be fetched.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "assets" / "run.svg"
COMMAND = ["tw", "run", "examples/digits/pipeline.yaml"]
WIDTH = 124
STYLES = {"✓": "green", "▶": "cyan", "✗": "bold red", "$": "bold"}

FORMAT = """\
<svg class="rich-terminal" xml:space="preserve" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Record and write."""
    with tempfile.TemporaryDirectory() as name:
        lines = record(Path(name))
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, highlight=False)
        for line in ["$ " + " ".join(COMMAND), *lines]:
            console.print(Text(line, style=STYLES.get(line[:1], "")), no_wrap=True, overflow="crop")
        picture = console.export_svg(title="tw run", code_format=FORMAT, unique_id="run")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8")


def record(folder: Path) -> list[str]:
    """Run the command in ``folder`` with a copy of the examples; return the lines it printed.

    Raises:
        CalledProcessError: it failed.
    """
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # noqa: TID251 - of a child
    env = {**os.environ, "PATH": path, "TW_HOME": str(folder / ".trainwright"), "COLUMNS": str(WIDTH)}  # noqa: TID251
    env = {name: value for name, value in env.items() if name not in {"TW_PROJECT", "TW_INVENTORY"}}
    done = subprocess.run(  # noqa: S603 - our own words
        COMMAND, cwd=folder, env=env, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return [re.sub(r"\s+$", "", line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main()
