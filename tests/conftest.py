"""Synthetic run trees as a fixture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.synthetic import Tree


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[..., Tree]:
    """A function that writes a small run tree; its arguments are those of `Tree`."""

    def make(name: str = "run", **settings: Any) -> Tree:
        small = {"sizes": [1, 64, 1024, 65536, 1 << 20], "samples": 5, **settings}
        return Tree(tmp_path / name, **small).write()

    return make
