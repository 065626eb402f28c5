"""What large graphs cost: compiling 10,000 steps, and running a step with 2,000 members that do nothing.

``compile_cpu_s`` is from the checked document to the plan with its digest, nothing cached; ``load_cpu_s``, from the
text of the file to the checked document, is mostly the YAML parser. ``member_engine_ms`` is the CPU of the process that
hosts the engine, from submit to the end of the run, over its members: every decision, commit, start and observation;
the supervisor, runners and commands are other processes. ``member_kb`` is by how much the memory of that process grows,
over the members. Prints one JSON object last.
"""

import argparse
import gc
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from trainwright.app import open_app
from trainwright.core.states import RunState
from trainwright.plan.compile import compile_plan
from trainwright.service.documents import read_document
from trainwright.service.submit import prepare, submit
from trainwright.spec.load import load
from trainwright.spec.shell import rewrite


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps and members")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        figures = running(Path(name), 200 if quick else 2_000)  # first: memory that compiling left would hide growth
    figures |= compiling(1_000 if quick else 10_000)
    print(json.dumps({"bench": "large_graph", "figures": {k: round(v, 3) for k, v in figures.items()}}))


def compiling(steps: int) -> dict:
    """Compile so many steps, each of which reads from one a hundred before it."""
    lines = ["pipeline: big", "steps:"]
    for i in range(steps):
        read = f"cat ${{{{ s{i - 100}.x }}}}" if i >= 100 else f"echo {i}"
        lines += [f"  s{i}:", f"    run: {read} > ${{{{ out.x }}}}", "    out: {x: file}"]
    began = time.process_time()
    document = load("\n".join(lines), "big.yaml")
    loaded = time.process_time()
    rewrite.cache_clear()
    started = time.process_time()
    plan = compile_plan(document, {}, ())
    assert plan.digest.startswith("sha256:")
    assert len(plan.steps) == steps
    return {"steps": steps, "load_cpu_s": loaded - began, "compile_cpu_s": time.process_time() - started}


def running(folder: Path, members: int) -> dict:
    """Run a step with so many members in this very process."""
    code = folder / "code"
    code.mkdir()
    path = code / "pipeline.yaml"
    make = f"import json; print(json.dumps(list(range({members}))))"
    path.write_text(
        "pipeline: fan\nsteps:\n"
        f"  list:\n    run: {sys.executable} -c '{make}' > ${{{{ out.items }}}}\n    out: {{items: value}}\n"
        "  member:\n    for_each: list.items\n    run: ['true']\n"
    )
    environ = {
        **os.environ,
        "TW_HOME": str(folder / "home"),
        "TW_RUNTIME_DIR": str(folder / "rt"),
        "TW_MACHINE_DIR": str(folder / "m"),
    }
    app = open_app(code, environ)
    prepared = prepare(app.context, read_document(path, "pipeline.yaml"), {}, code, "pipeline.yaml")
    run = submit(app.context, prepared)
    engine = app.engine()
    gc.collect()
    memory_kb, cpu_s, began = resident_kb(), own_cpu_s(), time.perf_counter()
    while engine.has_work():
        engine.turn()
        engine.wait()
    spent_s, wall_s = own_cpu_s() - cpu_s, time.perf_counter() - began
    grown_kb = resident_kb() - memory_kb
    view = engine.view(run.id)
    assert view.run.state is RunState.SUCCEEDED, view.run.reason
    assert len(view.steps) == members + 2
    return {
        "members": members,
        "member_engine_ms": spent_s / members * 1000,
        "member_wall_ms": wall_s / members * 1000,
        "member_kb": grown_kb / members,
    }


def own_cpu_s() -> float:
    """Return user + system seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident_kb() -> int:
    """Return the resident memory of this process."""
    text = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS:")))


if __name__ == "__main__":
    main()
