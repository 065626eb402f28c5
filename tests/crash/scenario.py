"""What is run and killed: twelve steps with a fan-out, a repetition and a judge; and a run that is stopped.

Every step notes its start and its end in a file outside the state folder, and every output names the attempts that
made it, so the text of the last one tells which attempts were used.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

PARTS = tuple(f"part{i}" for i in range(1, 7))

_STEP = """\
# NAME: what to do; then what to write and what to read
me="$TW_RUN_ID/$TW_STEP/$TW_ATTEMPT"
echo "start $me" >> "$CRASH_FOLDER/effects"
case $1 in
  split)
    mkdir "$2"
    for name in a b c; do echo "$me" > "$2/$name"; done
    head -c 1200000 /dev/zero > "$2/large" ;;
  make)
    out="$2"; shift 2
    { echo "$me"; cat "$@"; } > "$out" ;;
  flaky)
    if mkdir "$CRASH_FOLDER/failed-once" 2>/dev/null; then exit 3; fi
    { echo "$me"; cat "$3"; } > "$2" ;;
  judge)
    python judge.py "$2" ;;
  linger)
    i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done ;;
esac
echo "end $me" >> "$CRASH_FOLDER/effects"
"""

_JUDGE = """\
import sys
import trainwright as tw
tw.log(auc=0.9 if open(sys.argv[1]).read().count("/part") == 6 else 0.1)
"""


def _part(name: str) -> str:
    return f"""\
  {name}:
    run: bash step.sh make ${{{{ out.part }}}} ${{{{ split.table }}}}/a
    out: {{part: file}}
"""


_MAIN = f"""\
pipeline: crash
steps:
  split:
    run: bash step.sh split ${{{{ out.table }}}}
    out: {{table: dataset}}
{"".join(_part(name) for name in PARTS)}
  collect:
    run: bash step.sh make ${{{{ out.all }}}} {" ".join(f"${{{{ {name}.part }}}}" for name in PARTS)}
    out: {{all: file}}
  refine:
    run: bash step.sh make ${{{{ out.model }}}} ${{{{ collect.all }}}}
    out: {{model: model}}
  flaky:
    run: bash step.sh flaky ${{{{ out.model }}}} ${{{{ refine.model }}}}
    out: {{model: model}}
    retry: {{max: 1, backoff: 0.1s}}
  judge:
    run: bash step.sh judge ${{{{ flaky.model }}}}
    check: ["auc >= 0.8"]
  register: {{uses: register, with: {{model: flaky.model, name: crash, alias: candidate}}}}
"""

_HALT = """\
pipeline: halt
steps:
  first:
    run: bash step.sh make ${{ out.text }} /dev/null
    out: {text: file}
  linger:
    run: bash step.sh linger ${{ first.text }}
  never:
    depends_on: [linger]
    run: bash step.sh make /dev/null
"""

PIPELINES = {"main": _MAIN, "halt": _HALT}

LINGERS = "linger"
"""The step of ``halt`` that is stopped once it runs."""

KILLED_RUNNERS = {"main": ("split", "part3", "collect", "flaky", "judge"), "halt": ("linger",)}
"""Steps whose first runner is killed at each of its points: one of each kind."""

CALM: dict[str, dict[str, list[str]]] = {
    "main": {
        "split": ["succeeded"],
        **{name: ["succeeded"] for name in PARTS},
        "collect": ["succeeded"],
        "refine": ["succeeded"],
        "flaky": ["failed", "succeeded"],
        "judge": ["succeeded"],
    },
    "halt": {"first": ["succeeded"], "linger": ["cancelled"]},
}
"""Step → the states of its attempts when nobody is lost."""

RIGHT = {
    "main": {"run": "succeeded", **dict.fromkeys((*CALM["main"], "register"), "succeeded")},
    "halt": {"run": "cancelled", "first": "succeeded", "linger": "cancelled", "never": "cancelled"},
}
"""How the run and its steps must end."""

Winners = Mapping[str, str]
"""Step → the attempt that succeeded."""

_TEXTS: dict[str, Callable[[Winners], str]] = {
    "split": lambda won: f"{won['split']}\n",
    **{name: lambda won, name=name: f"{won[name]}\n{won['split']}\n" for name in PARTS},  # type: ignore[misc]
    "collect": lambda won: f"{won['collect']}\n" + "".join(_TEXTS[name](won) for name in PARTS),
    "refine": lambda won: f"{won['refine']}\n{_TEXTS['collect'](won)}",
    "flaky": lambda won: f"{won['flaky']}\n{_TEXTS['refine'](won)}",
    "first": lambda won: f"{won['first']}\n",
}

WRITERS = {"main": ("split", *PARTS, "collect", "refine", "flaky"), "halt": ("first",)}
"""Steps with an output."""


def text(step: str, won: Winners) -> str:
    """Return what the output of a step must say; for the folder of ``split``, what each small file says."""
    return _TEXTS[step](won)


def lay_out(folder: Path, scenario: str) -> None:
    """Write the project's files and a pretended machine on which all parts run at once."""
    code = folder / "code"
    code.mkdir(parents=True)
    (code / "pipeline.yaml").write_text(PIPELINES[scenario])
    (code / "step.sh").write_text(_STEP)
    (code / "judge.py").write_text(_JUDGE)
    (folder / "inventory.json").write_text(json.dumps({"cpu": 8, "memory": "8Gi", "gpus": []}))
