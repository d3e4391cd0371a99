"""The program that makes all samples again."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "samples" / "rebuild.py"


@pytest.fixture(scope="package")
def rebuild() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rebuild", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
