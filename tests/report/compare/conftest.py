"""Sides of comparisons, of trees whose truth is known."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.json_files import edit
from support.synthetic import SyntheticTree

from roundtrip.report.compare import side
from roundtrip.report.compare.comparison import compare
from roundtrip.report.compare.model import Comparison

OPENMPI, MPICH, THIRD = "openmpi41-boost181", "mpich40-boost181", "openmpi50-boost181"
FIRST = "2026-11-21T07:00:00Z"


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[side.Sources]:
    with side.open_sources(tmp_path / "reports") as side_sources:
        yield side_sources


@pytest.fixture
def tree(make_tree: Callable[..., SyntheticTree]) -> Callable[..., SyntheticTree]:
    """A tree of ten rounds of two toolchains; `started` is when its run began."""

    def make(name: str = "run", started: str = FIRST, **options: Any) -> SyntheticTree:
        settings = {"launches": 10, "steady": True, "environs": (OPENMPI, MPICH), **options}
        run = make_tree(name, **settings)
        edit(run.path / "state.json", started=started)
        return run

    return make


@pytest.fixture
def between(sources: side.Sources) -> Callable[..., Comparison]:
    def run(base: Any, new: Any, **options: Any) -> Comparison:
        return compare(sources.side(str(base)), sources.side(str(new)), **options)

    return run


def sides(run: SyntheticTree, *toolchains: str) -> list[str]:
    return [f"{run.path}:toolchain={name}" for name in toolchains or (OPENMPI, MPICH)]


def change_all(tree: SyntheticTree, name: str, environ: str = "*", **changes: Any) -> None:
    """Change keys of all files `name` of launches."""
    files = list(tree.path.glob(f"rounds/*/output/*/*/{environ}/*/{name}"))
    assert files
    for file in files:
        edit(file, **changes)
