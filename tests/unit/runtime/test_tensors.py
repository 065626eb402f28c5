"""Tensors, with a stand-in for torch: only what ``runtime.formats`` asks of it, over NumPy."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open as numpy_open
from safetensors.numpy import load_file, save_file

from trainwright.runtime import values
from trainwright.runtime.formats import RefusedValue


class Tensor:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def detach(self) -> "Tensor":
        return self

    def contiguous(self) -> "Tensor":
        return self

    def clone(self) -> "Tensor":
        return Tensor(self.array.copy())

    def untyped_storage(self) -> Any:
        return type("Storage", (), {"data_ptr": lambda _: self.array.ctypes.data})()


class Module:
    """What ``torch.nn.Module`` is to us: something refused."""


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch, nn, store = ModuleType("torch"), ModuleType("torch.nn"), ModuleType("safetensors.torch")
    torch.Tensor, nn.Module = Tensor, Module  # type: ignore[attr-defined]
    torch.as_tensor = lambda x: x if isinstance(x, Tensor) else Tensor(x)  # type: ignore[attr-defined]

    def save(found: dict[str, Tensor], path: str, metadata: dict[str, str]) -> None:
        places = [tensor.array.ctypes.data for tensor in found.values()]
        assert len(set(places)) == len(places), "safetensors refuses tensors that share memory"
        save_file({name: tensor.array for name, tensor in found.items()}, path, metadata)

    store.save_file = save  # type: ignore[attr-defined]
    store.load_file = lambda path: {k: Tensor(v) for k, v in load_file(path).items()}  # type: ignore[attr-defined]
    for module in (torch, nn, store):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("safetensors.safe_open", lambda path, framework: numpy_open(path, "numpy"))


def test_a_state_dict_comes_back_with_tied_weights_and_arrays(tmp_path: Path) -> None:
    shared = np.arange(4.0)
    state = {"a": Tensor(shared), "tied": Tensor(shared), "b": np.ones(2)}
    values.save(state, str(tmp_path / "out"), "model", "p")
    back = values.load(str(tmp_path / "out"), "model", "p")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["tensors.safetensors"]
    assert {name: tensor.array.tolist() for name, tensor in back.items()} == {
        "a": [0, 1, 2, 3],
        "tied": [0, 1, 2, 3],
        "b": [1, 1],
    }


def test_a_single_tensor_comes_back_as_one(tmp_path: Path) -> None:
    values.save(Tensor(np.arange(3)), str(tmp_path / "out"), "dataset", "p")
    assert values.load(str(tmp_path / "out"), "dataset", "p").array.tolist() == [0, 1, 2]


def test_a_module_is_refused_for_its_weights(tmp_path: Path) -> None:
    with pytest.raises(RefusedValue) as caught:
        values.save(Module(), str(tmp_path / "out"), "model", "p")
    assert caught.value.remedy == "return model.state_dict()"
