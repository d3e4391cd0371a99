"""Run trees of one toolchain, and changes of their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.synthetic import Tree

from roundtrip.collect import bundle

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Tree]


@contextmanager
def content(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON object in a file; what the block changes of it is written."""
    value = json.loads(file.read_text())
    yield value
    file.write_text(json.dumps(value))


def edit(file: Path, **changes: Any) -> None:
    """Change keys of the JSON object in a file."""
    with content(file) as value:
        value |= changes


@pytest.fixture
def tree(make_tree: Maker) -> Tree:
    """A tree with one launch."""
    return make_tree(launches=1, environs=(ENVIRON,))


@pytest.fixture
def two_launches(make_tree: Maker) -> Tree:
    return make_tree(launches=2, environs=(ENVIRON,))


@pytest.fixture
def bundle_path(tree: Tree) -> Path:
    """The bundle of a tree with one launch."""
    return bundle.build(tree.path)
