"""Events of real runs, to a file and to a collector that is away at first; the sender killed on the way."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from shell import PATIENCE_S, Shell

pytestmark = pytest.mark.heavy

PIPELINE = """\
pipeline: two
params: {code: 0}
steps:
  make: {run: "echo 1 > ${{ out.table }}", out: {table: file}}
  use: {run: "cat ${{ make.table }}; exit ${{ params.code }}"}
"""


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p") as shell:
        shell.write("two.yaml", PIPELINE)
        yield shell


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.05)


def kinds(events):
    return [(e["eventType"], e["job"]["name"]) for e in events]


def unlike(events):
    """The events without those that came again, in the order in which they came first."""
    return list({(e["run"]["runId"], e["eventType"], e["eventTime"]): e for e in events}.values())


def ends(events):
    return [e for e in events if e["job"]["name"] == "two" and e["eventType"] in {"COMPLETE", "FAIL"}]


def test_a_file_gets_every_event_also_after_the_command_has_returned(tw):
    path = tw.folder / "events.jsonl"
    events = lambda: [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []  # noqa: E731
    tw.run("run", "two.yaml", code=0, TW_OPENLINEAGE="file:events.jsonl", OPENLINEAGE_NAMESPACE="team")
    until(lambda: ends(events()))
    found = events()
    assert kinds(found)[0] == ("START", "two")
    assert kinds(found)[-1] == ("COMPLETE", "two")
    assert {e["job"]["namespace"] for e in found} == {"team"}
    use = [e for e in found if e["job"]["name"] == "two.use"]
    assert (use[0]["eventType"], use[-1]["eventType"]) == ("START", "COMPLETE")
    assert use[0]["inputs"][0]["name"] == "two/make/table"
    assert use[0]["run"]["facets"]["parent"]["run"]["runId"] == found[0]["run"]["runId"]
    shown = tw.run("lineage", "export", code=0).out.splitlines()
    assert [json.loads(line)["run"]["runId"] for line in shown] == [e["run"]["runId"] for e in found]
    since = str(found[-2]["run"]["facets"]["trainwright_fingerprint"]["event"])
    assert len(tw.run("lineage", "export", "--since", since, code=0).out.splitlines()) == 1
    said = tw.run("lineage", "export", "--to", "file:more.jsonl", code=0).err
    assert f"{len(found)} events sent to file:{tw.folder}/more.jsonl" in said
    assert (tw.folder / "more.jsonl").read_text().count("\n") == len(found)


@contextmanager
def collector(failures):
    """A receiver that is away for its first requests; gives its URL, what it took, and who asked."""
    taken, asked = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(self.headers.get("Authorization"))
            if len(asked) > failures:
                taken.append(body)
            self.send_response(201 if len(asked) > failures else 503)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_collector_that_fails_twice_and_a_sender_that_is_killed_lose_nothing(tw):
    with collector(failures=2) as (url, taken, asked):
        configured = {"TW_OPENLINEAGE": url, "TW_OPENLINEAGE_TOKEN": "secret"}
        tw.run("run", "two.yaml", "-p", "code=3", code=1, **configured)
        until(lambda: len(asked) >= 3)
        for process in tw.processes():
            if "exporter" in process.cmdline():
                process.kill()
                process.wait()
        tw.run("ps", code=0, **configured)  # any command sends what waits
        until(lambda: ends(taken))
        until(lambda: "0 changes of state still" in tw.run("doctor", **configured).out)
    found = unlike(taken)
    assert kinds(found)[0] == ("START", "two")
    assert kinds(found)[-1] == ("FAIL", "two")
    assert set(asked) == {"Bearer secret"}
    fails = [e for e in found if e["eventType"] == "FAIL" and e["job"]["name"] == "two.use"]
    assert fails[0]["run"]["facets"]["errorMessage"]["message"] == "the command ended with exit code 3"
    assert len({(e["run"]["runId"], e["eventType"]) for e in found if e["eventType"] != "RUNNING"}) == 6


def test_a_target_that_is_away_fails_no_run_and_is_told_by_the_doctor(tw):
    away = {"TW_OPENLINEAGE": "http://127.0.0.1:1"}
    tw.run("run", "two.yaml", code=0, **away)
    said = tw.run("lineage", "export", code=1, **away)
    assert said.err.startswith("error[TW6701]")
    doctor = tw.run("doctor", **away).out
    assert "still to be told: http://127.0.0.1:1/api/v1/lineage cannot be reached" in doctor


def test_a_target_that_is_none_is_refused_before_anything_runs(tw):
    assert tw.run("run", "two.yaml", code=2, TW_OPENLINEAGE="nowhere").err.startswith("error[TW2701]")
    assert tw.run("ps", "--json", code=0).json == []
