"""The libraries that pyproject.toml allows: the lowest of all, and the newest of all, work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPENDENCIES = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
#: What runs the tests below, whatever it is.
RUNNER = ["pytest<9.2", "pytest-timeout", "pytest-xdist", "hypothesis"]
#: Something of every library: models, tables, statistics, templates, ReFrame's loader, commands.
TESTS = (
    "tests/measure/test_records.py",
    "tests/measure/test_bundle_tables.py",
    "tests/measure/test_analysis.py",
    "tests/stats/test_verdicts.py",
    "tests/stats/nights/test_revisions.py",
    "tests/report/test_render.py",
    "tests/measure/test_site.py",
    "tests/compare/test_forms.py",
)


def lowest(requirement: str) -> str:
    """The requirement of the lowest version that `requirement` allows."""
    return re.sub(r">=([^,]+),.*", r"==\1", requirement)


def pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_library_has_both_bounds_and_the_upper_is_a_whole_version() -> None:
    bounds = re.compile(r"[\w-]+>=[\d.]+,<\d+")
    assert [item for item in DEPENDENCIES if not bounds.fullmatch(item)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("end", ["lowest", "newest"])
def test_the_package_works_at_an_end_of_its_bounds(end: str, tmp_path: Path) -> None:
    if pip(Path(sys.executable), "download", "--no-deps", "-d", str(tmp_path), "pyyaml").returncode:
        pytest.skip("pip reaches no index of packages: connect the machine to a network")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    requirements = map(lowest, DEPENDENCIES) if end == "lowest" else DEPENDENCIES
    options = ("--upgrade", *requirements, *RUNNER, "--editable", str(ROOT))
    installation = pip(python, "install", *options)
    assert installation.returncode == 0, installation.stderr[-2000:]
    process = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *TESTS],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout[-4000:]
