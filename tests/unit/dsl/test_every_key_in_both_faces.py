"""Every key of the language can be said in Python, and gives the plan that YAML gives."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tracing import drawing_in
from trainwright.core.artifact import Content, PinnedData
from trainwright.core.ids import Digest
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.spec.checking import CheckDataModel, ColumnModel, ExpectModel
from trainwright.spec.document import Document
from trainwright.spec.environments import EnvironmentModel
from trainwright.spec.load import load
from trainwright.spec.models import (
    CacheModel,
    LoopModel,
    PipelineModel,
    ReproduceModel,
    ResourcesModel,
    StepModel,
    names_of,
)
from trainwright.spec.params import resolve
from trainwright.spec.retry import RetryModel
from trainwright.spec.scheduling import SchedulingModel
from trainwright.spec.traced import document_of
from trainwright.spec.triggers import TriggerModel
from trainwright.spec.write import write

Draw = Callable[..., dict[str, Any]]

EVERYTHING = """
import trainwright as tw

IMAGE = {"image": "registry.example/team/train@sha256:" + "a" * 64}


@tw.step(out={"names": "value"}, retry={"max": 3, "on": {"crash": 2, "oom": 1}, "backoff": "1s", "memory": "x2..8Gi"},
    memory="1Gi", cpu="500m", gpu=1, gpu_memory="2Gi", gpu_model=["A100"], isolation="none", workers="1..2",
    scheduling={"queue": "a", "priority": "high", "preemptible": "time-sliced", "window": "Mon 22:00-06:00 Asia/Tokyo",
        "deadline": "12h", "expected_duration": "1h", "restart_cost": "5s", "grace": "30s", "max_price": 1,
        "purpose": "p"},
    runs_on="cheapest", cache={"mode": "auto", "ttl": "24h"}, help="h", skip_code=77)
def find(n, raw):
    return []


@tw.step(out={"size": "model"}, stage="training", warm=["numpy"], tolerate=1, parallel=2, timeout="5m", env={"A": "b"})
def measure(name, place):
    return {}


@tw.step(out={"q": "value"}, check=["q >= 0"], baseline="optional", environment={"project": ".", "extras": ["x"]})
def tune(lr, before=None):
    return 1


@tw.step(environment={"lockfile": "uv.lock"})
def look(sizes):
    pass


@tw.pipeline(
    scheduling={"queue": "b"}, runs_on=["one", "two"],
    apiVersion="trainwright/v1", name="all", description="d", standard=False, parallel=3,
    data={"raw": "pkg://trainwright/py.typed"}, reproduce={"tolerance": {"q": 0.001, "judge.auc": "1%"}},
    environment={"requirements": "requirements.txt", "python": "3.11"}, triggers=[
        {"name": "night", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "catch_up": "all(3)", "params": {"n": 4}},
        {"run": "prepare", "on": "any", "debounce": "10m"}, {"dataset": "datasets/clicks"}, {"webhook": "w"}],
)
def everything(raw, n: int = 3):
    sizes = measure.options(for_each=find(n, raw))(tw.each.value, tw.each.index)
    tune.options(matrix={"lr": [0.1, 0.2]}, name="grid")(tw.matrix.lr)
    rounds = tune.options(loop={"max_rounds": 4, "until": "q >= 3"}, on_fail={"run": "true", "env": {"N": n}, "cpu": 2})
    q = rounds(0.5, tw.prev.q)
    look.options(when="measure.succeeded > 0", depends_on=[q])(sizes)
    model = tw.command("cp ${{ raw }} ${TW_OUT}", raw=raw, out={"model": "model"}, name="copy", environment=IMAGE)
    tw.command(["grep", "x", model], check="auc >= 0.5", name="judge")
    a = {"type": "int", "range": [0, 9], "nulls": 0.1, "unique": False, "optional": True}
    b = {"in": ["x"], "pattern": ".", "length": [1, 2]}
    tw.check_data(model, expect={"rows": [1, None], "only": True, "unique": ["a", "b"], "columns": {"a": a, "b": b}},
        against=raw, options={"name": "t", "columns": ["a"], "bins": 5}, check="drift.a.psi <= 0.2", step="sound")
    tw.register(model, name="m", alias="best", when="judge.auc > 0.6", depends_on=[q], on_fail={"run": ["echo", n]})
    return {"q": q}
"""


@pytest.fixture
def draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Draw]:
    yield from drawing_in(tmp_path, monkeypatch)


def digest(document: Document) -> str:
    nothing = Content(Digest("sha256:" + "0" * 64), 0, 0)
    data = tuple(PinnedData(n, asked, asked, nothing) for n, asked in sorted(data_requests(document).items()))
    return str(compile_plan(document, resolve(document, {}), data).digest)


def missing(model: type[BaseModel], *written: dict[str, Any]) -> set[str]:
    """Return the keys of a model that stand in none of the mappings."""
    return set(names_of(model)) - {key for mapping in written for key in mapping}


def test_every_key_of_the_language_can_be_said_in_python(draw: Draw) -> None:
    """A new key of a model fails here until the pipeline above has it."""
    document = draw(EVERYTHING)["document"]
    steps = list(document["steps"].values())
    assert missing(PipelineModel, document) == set()
    assert missing(StepModel, *steps) == set()
    assert missing(ResourcesModel, *(step.get("resources", {}) for step in steps)) == set()
    assert missing(RetryModel, *(step.get("retry", {}) for step in steps)) == set()
    assert missing(CacheModel, *(step.get("cache", {}) for step in steps)) == set()
    environments = [document["environment"], *(step.get("environment", {}) for step in steps)]
    assert missing(EnvironmentModel, *environments) == set()
    assert missing(LoopModel, *(step.get("loop", {}) for step in steps)) == set()
    assert missing(ReproduceModel, document["reproduce"]) == set()
    scheduling = [document["scheduling"], *(step.get("scheduling", {}) for step in steps)]
    assert missing(SchedulingModel, *scheduling) == set()
    assert missing(TriggerModel, *document["triggers"]) == set()
    check = document["steps"]["sound"]["with"]
    assert missing(CheckDataModel, check) == missing(ExpectModel, check["expect"]) == set()
    assert missing(ColumnModel, *check["expect"]["columns"].values()) == set()


def test_every_key_gives_the_plan_that_yaml_gives(draw: Draw) -> None:
    drawn = draw(EVERYTHING)
    python, yaml = document_of(drawn), load(write(drawn["document"]), "p.yaml")
    assert python.spec == yaml.spec
    assert digest(python) == digest(yaml)


def test_a_registration_takes_the_keys_that_yaml_gives_it(draw: Draw) -> None:
    assert draw(EVERYTHING)["document"]["steps"]["register"] == {
        "uses": "register",
        "with": {"model": "copy.model", "name": "m", "alias": "best"},
        "when": "judge.auc > 0.6",
        "depends_on": ["tune"],
        "on_fail": {"run": ["echo", "${{ params.n }}"]},
    }
