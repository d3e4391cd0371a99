"""Synthetic run trees as fixtures; the generator is beside this file, a program as well."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

GENERATOR = Path(__file__).parents[1] / "report" / "synthetic.py"


def _generator() -> ModuleType:
    if "synthetic" not in sys.modules:
        spec = importlib.util.spec_from_file_location("synthetic", GENERATOR)
        assert spec and spec.loader
        sys.modules["synthetic"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["synthetic"])
    return sys.modules["synthetic"]


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[..., Any]:
    """A function that writes a small run tree; its arguments are those of `synthetic.Tree`."""

    def make(name: str = "run", **settings: Any) -> Any:
        small = {"sizes": [1, 64, 1024, 65536, 1 << 20], "samples": 5, **settings}
        return _generator().Tree(tmp_path / name, **small).write()

    return make
