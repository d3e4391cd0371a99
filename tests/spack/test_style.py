"""`spack style` finds the recipes as Spack's own are written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roundtrip.sites.software import Spack

REPOSITORY = Path(__file__).parents[2] / "spack_repo" / "roundtrip"
RECIPES = sorted(
    [*REPOSITORY.glob("packages/*/package.py"), *REPOSITORY.glob("build_systems/w*.py")]
)
#: What `spack style` runs besides its own check of imports, as Spack's own CI has them.
TOOLS = {"isort": "6.0.1", "black": "25.1.0", "flake8": "7.2.0"}


@pytest.fixture(scope="session")
def search() -> str:
    """The PATH where the tools are found."""
    python_bin = Path(sys.executable).parent
    spack_bin = Path(os.environ.get("SPACK_PYTHON", sys.executable)).parent
    search = os.pathsep.join([str(spack_bin), str(python_bin), os.environ["PATH"]])
    if any(shutil.which(tool, path=search) is None for tool in TOOLS):
        requirements = " ".join(f"{name}=={version}" for name, version in TOOLS.items())
        pytest.skip(f"`spack style` needs its tools: {python_bin}/pip install {requirements}")
    return search


def style(real: Spack, search: str, folder: Path, recipe: str) -> subprocess.CompletedProcess[str]:
    """`spack style` on `recipe` under the name by which it knows a recipe outside of its tree."""
    file = folder / "one-ci-package.py"
    file.write_text(recipe)
    return subprocess.run(
        [real.command, "style", "--tool", ",".join(["import", *TOOLS]), file],
        env={**os.environ, "PATH": search},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "recipe", RECIPES, ids=lambda recipe: f"{recipe.parent.name}/{recipe.name}"
)
def test_a_recipe_has_spacks_style(real: Spack, search: str, tmp_path: Path, recipe: Path) -> None:
    process = style(real, search, tmp_path, recipe.read_text())
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.count("checks were clean") == 1 + len(TOOLS) + 1


@pytest.mark.parametrize(
    ("source", "tool"),
    [
        ("from spack.package import *\nimport re\n\nre.escape('a')\n", "isort"),
        ("from spack.package import *\n\nname = 'a'\n", "black"),
        ("import re\n\nfrom spack.package import *\n", "flake8"),
        ("from spack.package import *\n\nspack.config.get('a')\n", "import"),
    ],
)
def test_what_is_not_spacks_style_is_refused(
    real: Spack, search: str, tmp_path: Path, source: str, tool: str
) -> None:
    process = style(real, search, tmp_path, source)
    assert process.returncode != 0
    assert f"{tool} found errors" in process.stdout
