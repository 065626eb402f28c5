"""The documentation against the code it speaks of."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import BaseModel

import trainwright
from trainwright.core.stage import Stage
from trainwright.spec import checking, models
from trainwright.spec.kinds.kind import Kind
from trainwright.spec.kinds.known import KINDS
from trainwright.spec.retry import RetryModel

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*(ROOT / p for p in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *DOCS.rglob("*.md")])
SPOKEN_OF = re.compile(r"`((?:src|docs|examples|tests|bench)/[^`\s]*)`")
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")
VARIABLE = re.compile(r"\bTW_[A-Z_]*[A-Z]\b")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def generate() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_generated_pages_are_current(generate: ModuleType) -> None:
    assert generate.stale() == [], "run: python docs/generate.py"


def test_generating_twice_gives_the_same(generate: ModuleType) -> None:
    assert generate.pages() == generate.pages()


def test_every_generated_page_says_so(generate: ModuleType) -> None:
    assert all(text.startswith(generate.NOTE) for text in generate.pages().values())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_path_spoken_of_exists(page: Path) -> None:
    spoken = SPOKEN_OF.findall(page.read_text(encoding="utf-8"))
    assert [path for path in spoken if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [p for page in DOCS.rglob("*.md") if (p := page.relative_to(DOCS).as_posix()) not in text] == []


@pytest.mark.parametrize(
    "model",
    [
        models.PipelineModel,
        models.ParamModel,
        models.StepModel,
        models.ResourcesModel,
        RetryModel,
        models.RegisterModel,
        models.CacheModel,
        checking.CheckDataModel,
        checking.ExpectModel,
        checking.ColumnModel,
    ],
)
def test_the_reference_has_every_key_of_the_language(model: type[BaseModel]) -> None:
    text = (DOCS / "reference" / "language.md").read_text(encoding="utf-8")
    assert [key for key in models.names_of(model) if f"`{key}`" not in text] == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_reference_has_every_key_of_a_platform_document(kind: Kind) -> None:
    text = (DOCS / "reference" / "platform-documents.md").read_text(encoding="utf-8")
    section = text.partition(f"## {kind.name}\n")[2].partition("\n## ")[0]
    assert [key for key in models.names_of(kind.model) if f"`{key}`" not in section] == []


def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in trainwright.__all__ if f"`tw.{name}`" not in text] == []
    assert set(re.findall(r"^\| `tw\.(\w+)`", text, re.MULTILINE)) <= set(trainwright.__all__)


def test_every_stage_is_explained() -> None:
    text = (DOCS / "explanation" / "six-stages.md").read_text(encoding="utf-8")
    assert [stage for stage in Stage if f"`{stage.value}`" not in text] == []


@pytest.mark.parametrize("module", ["settings.py", "runtime/environment.py"])
def test_every_variable_is_documented(module: str) -> None:
    used = set(VARIABLE.findall((ROOT / "src" / "trainwright" / module).read_text(encoding="utf-8")))
    text = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    assert sorted(variable for variable in used if variable not in text) == []


def test_every_decision_has_every_part() -> None:
    parts = ["Status", "Context", "Decision", "Consequences", "Alternatives", "What would change our mind"]
    for page in sorted((DOCS / "adr").glob("0*.md")):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == parts, page.name
        assert text.startswith(f"# {page.name[:4]}: "), page.name


def test_the_picture_fetches_nothing() -> None:
    picture = (DOCS / "assets" / "run.svg").read_text(encoding="utf-8")
    assert "@import" not in picture
    assert "@font-face" not in picture
    assert set(re.findall(r"https?://[^\s\"')]+", picture)) <= {"http://www.w3.org/2000/svg"}
