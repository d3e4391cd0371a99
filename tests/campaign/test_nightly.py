"""The job of every night, with commands of Slurm that the test plays."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
LOST = "Unable to contact slurm controller (connect failure)"
#: A job's record is a file: `record` for scontrol show, replaced by scontrol update.
SCONTROL = """\
case "$1 $2" in
  "show config") ;;
  "show job") cat {folder}/record 2>/dev/null ;;
  update*)
    for word in "$@"; do
      case $word in Comment=*) echo "   $word " > {folder}/record ;; esac
    done ;;
esac
"""


class Night:
    """A checkout with nothing but the job, and what was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("site-configs", "campaigns", "src/roundtrip/campaign"):
            (folder / name).mkdir(parents=True)
        (folder / "site-configs" / "activate").write_text(":\n")
        shutil.copy(CHECKOUT / "campaigns" / "nightly.sbatch", folder / "campaigns")
        slurm = CHECKOUT / "src" / "roundtrip" / "campaign" / "slurm"
        shutil.copytree(slurm, folder / "src/roundtrip/campaign/slurm", symlinks=True)
        self.play("scontrol", SCONTROL.format(folder=folder))
        self.play("squeue", "")
        self.play("sbatch", "echo 2")
        self.play("roundtrip", "")

    def play(self, name: str, script: str) -> None:
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        note = f'echo "{name} $*" >> {self.folder}/calls'
        file.write_text(f"#!/bin/sh\n{note}\n{script}\n")
        file.chmod(0o755)

    def run(self, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "SLURM_JOB_ID": "1",
            "SLURM_JOB_NAME": "roundtrip-nightly",
            "ROUNDTRIP_SITE": "here",
            **variables,
        }
        return subprocess.run(
            ["bash", "campaigns/nightly.sbatch"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def calls(self, name: str) -> list[str]:
        lines = (self.folder / "calls").read_text().splitlines()
        return [line for line in lines if line.startswith(f"{name} ")]


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path / "checkout")


def names(night: Night) -> list[str]:
    return [call.rpartition(" --night ")[2] for call in night.calls("roundtrip")]


def test_a_requeued_job_has_the_name_of_its_night_and_another_job_another(night: Night) -> None:
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never")
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never", SLURM_RESTART_COUNT="1")
    (night.folder / "record").unlink()  # Slurm began anew: there is another job 1
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never", SLURM_RESTART_COUNT="1")
    first, again, other = names(night)
    assert len(first) == 36
    assert first == again != other


def test_a_job_of_scrontab_keeps_its_number_and_its_comment_but_is_a_new_night(
    night: Night,
) -> None:
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never")
    with (night.folder / "record").open("a") as record:
        record.write('   CrontabSpec="0 1 * * *"\n')
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never", SLURM_RESTART_COUNT="1")
    first, second = names(night)
    assert first != second


def test_the_next_night_is_submitted_once(night: Night) -> None:
    assert "nightly: next night is job 2" in night.run().stdout
    (call,) = night.calls("sbatch")
    assert "--comment=roundtrip-nightly nightly here" in call
    night.play("squeue", 'echo "roundtrip-nightly nightly here"')
    night.run()
    assert len(night.calls("sbatch")) == 1


@pytest.mark.parametrize("command", ["squeue", "scontrol"])
def test_a_silent_slurm_does_not_end_the_series(night: Night, command: str) -> None:
    count = f"$(grep -c '^{command} ' {night.folder}/calls)"
    script = SCONTROL.format(folder=night.folder) if command == "scontrol" else ""
    night.play(command, f'if [ {count} -le 2 ]; then echo "{LOST}" >&2; exit 1; fi\n{script}')
    done = night.run()
    assert "nightly: next night is job 2" in done.stdout
    assert len(names(night)) == 1


def test_a_refused_next_night_is_told_and_tonight_runs(night: Night) -> None:
    night.play("sbatch", 'echo "sbatch: error: invalid account" >&2; exit 1')
    done = night.run()
    assert "cannot arrange the next night: sbatch: error: invalid account" in done.stderr
    assert len(names(night)) == 1
