"""Capture of the environment and the machine."""

import importlib.metadata
import os
import re
import sys
from pathlib import Path

import pytest

from trainwright.core.node import Device, Node
from trainwright.core.resources import Resources
from trainwright.service.capture.environment import capture_environment
from trainwright.service.capture.hardware import capture_hardware


def test_what_is_installed_is_what_metadata_says() -> None:
    found = capture_environment()
    expected: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        expected.setdefault(name, distribution.version)
    assert dict(found.packages) == expected
    assert list(found.packages) == sorted(found.packages)
    assert found.python == sys.version.split()[0]
    assert not found.locked


def test_every_form_of_name_is_understood_and_the_first_folder_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for name in ("Scikit_Learn-1.5.0.dist-info", "torch-2.1.0+cpu.dist-info", "zope.interface-5.0-py3.11.egg-info"):
        (first / name).mkdir(parents=True)
    for name in ("~orch-2.0.dist-info", "torch", "torch-2.0.dist-info.bak", "local.egg-info"):
        (first / name).mkdir()
    (first / "local.egg-info/PKG-INFO").write_text("Metadata-Version: 2.1\nName: local\nVersion: 0.3\n")
    (second / "torch-1.0.dist-info").mkdir(parents=True)
    (second / "six-1.16.0-py3.11-linux-x86_64.egg-info").write_text("")
    (second / "bare.egg-info").mkdir()
    (tmp_path / "file.zip").write_text("")
    found = capture_environment([str(first), str(tmp_path / "file.zip"), str(tmp_path / "gone"), str(second)])
    assert dict(found.packages) == {
        "bare": "",
        "local": "0.3",
        "scikit-learn": "1.5.0",
        "six": "1.16.0",
        "torch": "2.1.0+cpu",
        "zope-interface": "5.0",
    }


def test_an_empty_entry_of_the_path_is_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here-1.dist-info").mkdir()
    monkeypatch.chdir(tmp_path)
    assert capture_environment([""]).packages == {"here": "1"}


def installed(folder: Path, lines: str, name: str = "alpha-1.0.dist-info") -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "RECORD").write_text(lines)
    return folder


def test_other_files_under_the_same_version_are_another_environment(tmp_path: Path) -> None:
    wheel = "alpha.py,sha256=one,9\nalpha-1.0.dist-info/WHEEL,sha256=two,9\n"
    here = installed(tmp_path / "here", wheel)
    other = installed(tmp_path / "other", wheel.replace("one", "ONE"))
    assert capture_environment([str(here)]).packages == capture_environment([str(other)]).packages
    assert capture_environment([str(here)]).records != capture_environment([str(other)]).records


def test_where_and_by_whom_a_wheel_was_installed_means_nothing(tmp_path: Path) -> None:
    by_pip = (
        "../../bin/alpha,sha256=shebang,9\nalpha-1.0.dist-info/INSTALLER,sha256=pip,4\nalpha.py,sha256=one,9\n"
        "__pycache__/alpha.cpython-311.pyc,,\nalpha-1.0.dist-info/RECORD,,\nb.py,sha256=two,9\n"
    )
    by_uv = "b.py,sha256=two,9\nalpha.py,sha256=one,9\nalpha-1.0.dist-info/INSTALLER,sha256=uv,2\n"
    found = [
        capture_environment([str(installed(tmp_path / str(n), text))]).records for n, text in enumerate((by_pip, by_uv))
    ]
    assert found[0] == found[1]


def test_what_was_read_is_known_until_it_changes(tmp_path: Path) -> None:
    here = installed(tmp_path / "here", "alpha.py,sha256=one,9\n")
    kept = tmp_path / "state" / "records.json"
    first = capture_environment([str(here)], kept)
    stamp = kept.stat().st_mtime_ns
    assert capture_environment([str(here)], kept) == first
    assert kept.stat().st_mtime_ns == stamp
    (here / "alpha-1.0.dist-info/RECORD").write_text("alpha.py,sha256=another,9\n")
    assert capture_environment([str(here)], kept).records != first.records
    kept.write_text("[broken")
    assert capture_environment([str(here)], kept) == capture_environment([str(here)])
    assert capture_environment([str(here)], Path("/proc/no/such/place")) == capture_environment([str(here)])


def test_an_editable_installation_is_told(tmp_path: Path) -> None:
    here = installed(tmp_path, "", "mine-1.dist-info")
    (here / "mine-1.dist-info/direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    installed(tmp_path, "", "other-1.dist-info")
    assert capture_environment([str(here)]).editable == ("mine",)


def test_hardware_is_what_the_nodes_offer(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast  CPU @ 3GHz\nflags\t: a b\n")
    one = Resources(cpu_milli=1500, memory_bytes=8, gpu_milli=2000)
    devices = (Device(0, "H200", 141), Device(1, "H200", 141))
    nodes = (Node("a", one, one, devices), Node("b", Resources(2000, 2), Resources(0, 0)))
    found = capture_hardware(nodes, cpuinfo)
    assert (found.cores, found.memory_bytes, found.gpus, found.cpu) == (4, 10, ("H200", "H200"), "Fast CPU @ 3GHz")
    assert (found.system, found.machine) == (os.uname().sysname, os.uname().machine)


def test_a_machine_without_nodes_or_a_processor_name_describes_itself(tmp_path: Path) -> None:
    found = capture_hardware((), tmp_path / "gone")
    assert found.cpu == os.uname().machine
    assert found.cores >= 1
    assert found.memory_bytes > 2**20
    assert found.gpus == ()
    assert capture_hardware(()).cpu
