"""The wheel: it lays out a campaign folder in which everything runs, without a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import copy_tracked

pytestmark = pytest.mark.nightly

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
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


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


def test_outside_of_a_campaign_folder_a_line_says_what_to_do(
    installed: Path, tmp_path: Path
) -> None:
    process = roundtrip(installed, tmp_path, "run", "smoke")
    assert process.returncode == 2
    assert "roundtrip init DIR" in process.stderr


def test_without_a_toolchain_the_line_says_how_to_build_one(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path / "none"))
    roundtrip(installed, tmp_path, "init", "mine")
    process = roundtrip(installed, tmp_path / "mine", "run", "smoke", "--site", "local")
    assert process.returncode == 2
    expected = "roundtrip toolchains openmpi41-boost181 mpich40-boost181"
    assert process.stderr.endswith(f"site 'local' has no toolchain yet; build some: {expected}\n")
