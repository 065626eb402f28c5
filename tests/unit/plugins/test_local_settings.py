"""An engine that is called back to life works in the very place of the one that died."""

from pathlib import Path

from trainwright.plugins.backends.local.settings import LocalSettings


def test_an_engine_is_started_for_the_same_home_ledger_sockets_and_machine(tmp_path: Path) -> None:
    settings = LocalSettings(
        root=tmp_path / "runs", content_root=tmp_path / "content", python="python",
        sockets=tmp_path / "s", ledger=tmp_path / "l", home=tmp_path, project="p",
        warm=frozenset({"scipy", "numpy"}),
    )  # fmt: skip
    assert settings.variables() == {
        "TW_PROJECT": "p",
        "TW_WARM": "numpy,scipy",
        "TW_HOME": str(tmp_path),
        "TW_RUNTIME_DIR": str(tmp_path / "s"),
        "TW_MACHINE_DIR": str(tmp_path / "l"),
    }
    assert LocalSettings(Path("runs"), Path("content"), "python", project="p").variables() == {
        "TW_PROJECT": "p",
        "TW_WARM": "off",
    }
