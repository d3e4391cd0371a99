"""The wheel lays out a campaign folder, and its libraries work at both ends of their bounds."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.programs import CHECKOUT, copy_tracked, run_program

#: The user's variables that would move what a campaign writes.
PLACES = ("ROUNDTRIP_RUNS", "ROUNDTRIP_REPORTS")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tracked files, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_tracked(folder / "source")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    subprocess.run([*wheel, folder / "source"], check=True)
    (file,) = folder.glob("roundtrip-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", file], check=True)
    return folder / "site"


def roundtrip(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **{key: value for key, value in os.environ.items() if key not in PLACES},
        "PYTHONPATH": str(site),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    program = "from roundtrip.cli import main; main()"
    return run_program(sys.executable, "-c", program, *words, cwd=folder, env=environment)


@pytest.mark.nightly
def test_a_campaign_folder_is_laid_out_and_can_run(installed: Path, tmp_path: Path) -> None:
    process = roundtrip(installed, tmp_path, "init", "mine")
    assert process.returncode == 0, process.stderr
    folder = tmp_path / "mine"
    assert os.access(folder / "testbed" / "vcluster", os.X_OK)
    dry_run = roundtrip(installed, folder, "run", "smoke", "--site", "local", "--dry-run")
    assert dry_run.returncode == 0, dry_run.stderr
    assert dry_run.stdout.count("run   9 x NetPIPE") == 2
    commands = Path(roundtrip(installed, folder, "--scheduler-commands", "slurm").stdout.strip())
    assert commands.is_relative_to(installed) and os.access(commands / "scontrol", os.X_OK)
    rerun = roundtrip(installed, tmp_path, "init", "mine")
    assert rerun.returncode == 2
    reason = "not empty: a campaign folder is laid out in a new one"
    assert rerun.stderr == f"roundtrip: mine: {reason}\n"


@pytest.mark.nightly
def test_outside_of_a_campaign_folder_a_line_says_what_to_do(
    installed: Path, tmp_path: Path
) -> None:
    process = roundtrip(installed, tmp_path, "run", "smoke")
    assert process.returncode == 2
    assert "roundtrip init DIR" in process.stderr


DEPENDENCIES = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]
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
    "tests/measure/test_matrix.py",
    "tests/report/compare/test_forms.py",
)


def lowest(requirement: str) -> str:
    """The requirement of the lowest version that `requirement` allows."""
    return re.sub(r">=([^,]+),.*", r"==\1", requirement)


def pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_program(python, "-m", "pip", "--disable-pip-version-check", *arguments)


def test_every_library_has_both_bounds_and_the_upper_is_a_whole_version() -> None:
    bounds = re.compile(r"[\w-]+>=[\d.]+,<\d+")
    assert [item for item in DEPENDENCIES if not bounds.fullmatch(item)] == []
    assert [name for name in TESTS if not (CHECKOUT / name).is_file()] == []


@pytest.mark.nightly
@pytest.mark.parametrize("end", ["lowest", "newest"])
def test_the_package_works_at_an_end_of_its_bounds(end: str, tmp_path: Path) -> None:
    if pip(Path(sys.executable), "download", "--no-deps", "-d", str(tmp_path), "pyyaml").returncode:
        pytest.skip("pip reaches no index of packages: connect the machine to a network")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    requirements = map(lowest, DEPENDENCIES) if end == "lowest" else DEPENDENCIES
    options = ("--upgrade", *requirements, *RUNNER, "--editable", str(CHECKOUT))
    installation = pip(python, "install", *options)
    assert installation.returncode == 0, installation.stderr[-2000:]
    command = [python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *TESTS]
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    process = run_program(*command, cwd=CHECKOUT, env=environment)
    assert process.returncode == 0, process.stdout[-4000:]
