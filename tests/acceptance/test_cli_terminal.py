"""A real terminal, 80 columns wide."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest
from rich.cells import cell_len
from shell import ANSI, PATIENCE_S, Shell

PIPELINE = """\
pipeline: a-pipeline-with-a-rather-long-name
params: {path: /a/long/path/to/something/that/does/not/fit/on/a/line/of/eighty/columns, seed: 7}
steps:
  a-step-with-a-name-as-long-as-this:
    run: |
      python -c "
      import trainwright as tw, time
      for i in range(4):
          tw.log(loss=1 / (i + 1), accuracy=0.5123456789, learning_rate=0.000123456, step=i); tw.progress(i + 1, 4)
          time.sleep(0.15)
      "
    check: accuracy >= 0.1
  训练模型: {run: 'sleep 0.1; exit 2', depends_on: [a-step-with-a-name-as-long-as-this]}
  third: {run: 'true', depends_on: [训练模型]}
"""


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("terminal"), TERM="xterm-256color") as shell:
        shell.write("p.yaml", PIPELINE)
        yield shell


def on_terminal(tw, *args, columns=80, **environ):
    """Run a command on a terminal of its own; return its exit code and all that was written to the screen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        ("tw", *args), cwd=tw.folder, env=tw.environ | environ, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = b""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 1.0)[0]:
            continue
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        written += data
    os.close(ours)
    return process.wait(PATIENCE_S), written.decode().replace("\r\n", "\n")


def screen(text):
    """Return the lines that stand on the screen in the end: ours only ever go up and clear whole lines."""
    lines, row = [""], 0
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if token == "\n":
            row += 1
            lines += [""] if row == len(lines) else []
        elif token.endswith("A") and token[0] == "\x1b":
            row -= int(token[2:-1] or 1)
        elif token == "\x1b[2K":
            lines[row] = ""
        elif token[0] not in "\x1b\r":
            lines[row] += token
    return [line.rstrip() for line in lines]


def tables(text):
    """Return the lines of text that belong to tables, without colour."""
    return [line for line in ANSI.sub("", text).replace("\r", "\n").split("\n") if re.match("[─✓✗▶·…■-]", line)]


def test_the_live_table_fits_has_colour_and_leaves_its_last_state(tw):
    code, written = on_terminal(tw, "run", "p.yaml")
    assert code == 1
    assert "\x1b[36m" in written, "running is cyan"
    assert "\x1b[32m" in written, "succeeded is green"
    assert "\x1b[1;31m" in written, "failed is red"
    live = written.split("\x1b[?25l")[1].split("\x1b[?25h")[0]
    assert max(cell_len(line) for line in tables(live)) <= 80
    assert "loss" in live
    shown = screen(written)
    rows = [line for line in shown if re.match("[✓✗▶·…-] ", line)]
    assert rows[0].startswith("✓ succeeded  a-step-with-a-name-as-l…")
    assert rows[1].startswith("✗ failed     训练模型")
    assert rows[2].startswith("- skipped    third")
    assert rows[3].startswith("✗ a-pipeline-with-a-rather-long-name #"), "the verdict comes below"
    assert len([line for line in shown if line.startswith("state ")]) == 1, "one table is left, not each of its states"
    assert written.count("\x1b[?25h") == 1, "the cursor is back"


@pytest.fixture(scope="module")
def ended(tw):
    return tw.run("run", "p.yaml", code=1)


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_lists_fit_the_width(tw, ended, columns):
    for command in (("show", "-1"), ("plan", "p.yaml")):
        code, written = on_terminal(tw, *command, columns=columns)
        assert code == 0
        rule = next(line for line in ANSI.sub("", written).split("\n") if line.startswith("──"))
        assert cell_len(rule) <= max(columns, 72), command
    code, written = on_terminal(tw, "ps", columns=columns)
    rows = ANSI.sub("", written).rstrip("\n").split("\n")
    assert len(rows) == 2 + len(tw.run("ps", "--json").json), "one line a run"
    assert " ago " in rows[2]
    assert "\x1b[1;31m✗ failed" in written


def test_no_color_is_honoured(tw, ended):
    code, written = on_terminal(tw, "ps", NO_COLOR="1")
    assert code == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", written)
    code, written = on_terminal(tw, "run", "nowhere.yaml", NO_COLOR="1")
    assert code == 4
    assert "\x1b" not in written
    assert on_terminal(tw, "run", "nowhere.yaml")[1].startswith("\x1b[1;31merror[TW4004]\x1b[0m: there is no file")


def test_only_the_verdict_goes_to_a_file_while_the_terminal_shows_the_rest(tw):
    ours, theirs = pty.openpty()
    with (tw.folder / "verdict").open("wb") as file:
        process = subprocess.Popen(("tw", "run", "p.yaml"), cwd=tw.folder, env=tw.environ, stdout=file, stderr=theirs)
        os.close(theirs)
        written = b""
        try:
            while data := os.read(ours, 65536):
                written += data
        except OSError:
            pass
    os.close(ours)
    assert process.wait(PATIENCE_S) == 1
    verdict = (tw.folder / "verdict").read_text()
    assert verdict.startswith("✗ a-pipeline")
    assert not ANSI.search(verdict)
    assert b"cause:" not in written
