"""Where raw data comes from: files and installed packages."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from trainwright.core.errors import NotFoundError, SpecError
from trainwright.plugins.sources.file import FileSource
from trainwright.plugins.sources.pkg import PackageSource


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package ``twdata`` that must not be imported, and a canary beside it."""
    root = tmp_path / "site"
    (root / "twdata/raw").mkdir(parents=True)
    (root / "twdata/__init__.py").write_text("raise SystemExit('was imported')")
    (root / "twdata/raw/digits.csv").write_text("1,2")
    (root / "twdata/raw/a%20b.csv").write_text("1,2")
    (root / "canary.txt").write_text("canary")
    (root / "twsingle.py").write_text("raise SystemExit('was imported')")
    monkeypatch.syspath_prepend(str(root))
    return root


@pytest.mark.parametrize("uri", ["file:sub/a.csv", "sub/a.csv", "./sub/a.csv", "FILE:sub/a.csv", "sub/../sub/a.csv"])
def test_a_relative_file_starts_at_the_base(tmp_path: Path, uri: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.csv").write_text("1")
    found = FileSource().locate(uri, tmp_path)
    assert isinstance(found, Path)
    assert found.is_absolute()
    assert found.samefile(tmp_path / "sub/a.csv")


def test_only_file_with_slashes_has_percent_signs_decoded(tmp_path: Path) -> None:
    for name in ("a b%#?.csv", "a%20b.csv"):
        (tmp_path / name).write_text("1")
    base = tmp_path / "elsewhere"
    assert FileSource().locate(f"file://{tmp_path}/a%20b%25#?.csv", base) == tmp_path / "a b%#?.csv"
    assert FileSource().locate(f"file://localhost{tmp_path}/a%20b%25%23%3f.csv", base) == tmp_path / "a b%#?.csv"
    for uri in (f"file:{tmp_path}/a%20b.csv", f"{tmp_path}/a%20b.csv"):
        assert FileSource().locate(uri, base) == tmp_path / "a%20b.csv"


def test_folders_are_found_too(tmp_path: Path) -> None:
    assert FileSource().locate("file:.", tmp_path) == tmp_path


def test_a_missing_file_names_near_ones(tmp_path: Path) -> None:
    (tmp_path / "digits.csv").write_text("1")
    with pytest.raises(NotFoundError) as caught:
        FileSource().locate("file:digit.csv", tmp_path)
    assert caught.value.problem.code == "TW4303"
    assert "digits.csv" in caught.value.problem.remedy
    for uri in ("file:no/such", "x" * 5000, "file:digits.csv/below"):
        with pytest.raises(NotFoundError) as caught:
            FileSource().locate(uri, tmp_path)
        assert caught.value.problem.remedy


@pytest.mark.parametrize("uri", ["file://host/a.csv", "file://data.csv", "file:", "", "file:///%00", "a\0b", "file://"])
def test_a_uri_that_names_no_path_here_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(SpecError) as caught:
        FileSource().locate(uri, tmp_path)
    assert caught.value.problem.code == "TW4304"
    assert caught.value.problem.remedy


def test_a_file_in_a_package_is_found_without_importing_it(package: Path, tmp_path: Path) -> None:
    found = PackageSource().locate("pkg://twdata/raw/digits.csv", tmp_path)
    assert found == package / "twdata/raw/digits.csv"
    assert PackageSource().locate("pkg://twdata/raw", tmp_path) == package / "twdata/raw"
    assert PackageSource().locate("pkg://twdata/raw/a%20b.csv", tmp_path).read_text() == "1,2"
    assert "twdata" not in sys.modules


def test_a_namespace_package_is_searched_in_all_its_folders(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for root, name in ((package, "one"), (tmp_path / "more", "two")):
        (root / "twspace").mkdir(parents=True)
        (root / f"twspace/{name}.csv").write_text(name)
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    for name in ("one", "two"):
        assert PackageSource().locate(f"pkg://twspace/{name}.csv", tmp_path).read_text() == name


def test_a_missing_package_says_what_to_install(package: Path, tmp_path: Path) -> None:
    for name, wanted in {"twmissing": "twmissing"}.items():
        with pytest.raises(NotFoundError) as caught:
            PackageSource().locate(f"pkg://{name}/a.csv", tmp_path)
        assert caught.value.problem.code == "TW4301"
        assert caught.value.problem.remedy == f"pip install {wanted}"


def test_a_missing_file_in_a_package_names_near_ones(package: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        PackageSource().locate("pkg://twdata/digit.csv", tmp_path)
    assert caught.value.problem.code == "TW4302"
    assert caught.value.problem.remedy == "did you mean raw/digits.csv?"
    with pytest.raises(NotFoundError) as caught:
        PackageSource().locate("pkg://twsingle/a.csv", tmp_path)
    assert caught.value.problem.code == "TW4302"


@pytest.mark.parametrize(
    ("there", "not_there"),
    [
        ("../canary.txt", "../cangry.txt"),
        ("raw/../../canary.txt", "raw/../../cangry.txt"),
        ("..\\canary.txt", "..\\cangry.txt"),
        ("%2e%2e/canary.txt", "%2e%2e/cangry.txt"),
        ("/etc/passwd", "/etc/pazzwd"),
        ("link/canary.txt", "link/cangry.txt"),
        ("raw/digits.csv\0", "raw/digits.csw\0"),
    ],
)
def test_outside_a_package_there_is_no_telling_what_exists(
    package: Path, tmp_path: Path, there: str, not_there: str
) -> None:
    (package / "twdata/link").symlink_to(package)
    said = []
    for path in (there, not_there):
        with pytest.raises(NotFoundError) as caught:
            PackageSource().locate(f"pkg://twdata/{path}", tmp_path)
        problem = caught.value.problem
        said.append((problem.code, problem.message.replace(repr(path), ""), problem.remedy))
    assert said[0] == said[1]
    assert said[0][0] == "TW4302"


@pytest.mark.parametrize(
    "uri", ["pkg:twdata/a", "pkg://", "pkg://twdata", "pkg://twdata/", "pkg://a.b/c", "pkg://a-b/c"]
)
def test_a_uri_that_names_no_file_in_a_package_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(SpecError) as caught:
        PackageSource().locate(uri, tmp_path)
    assert caught.value.problem.code == "TW4304"


@pytest.mark.skipif(find_spec("sklearn") is None, reason="comes with the extra: examples")
def test_the_documented_example_works(tmp_path: Path) -> None:
    assert PackageSource().locate("pkg://sklearn/datasets/data/digits.csv.gz", tmp_path).stat().st_size > 50_000
