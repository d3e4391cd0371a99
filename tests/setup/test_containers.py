"""The recipes of containers, run by a shell with fakes: they set up, and test by a campaign."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.programs import script

ROOT = Path(__file__).parents[2]


def container_stages() -> dict[str, str]:
    """What `RUN` runs in each stage of the Containerfile, as scripts."""
    text = (ROOT / "containers" / "Containerfile").read_text().replace("\\\n", "")
    stages: dict[str, str] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages[name := rest.split()[-1]] = ""
        elif word == "RUN":
            stages[name] += f"{rest}\n"
    return stages


def apptainer_sections() -> dict[str, str]:
    """The scripts of the Apptainer definition."""
    text = (ROOT / "containers" / "roundtrip.def").read_text()
    return dict(re.findall(r"^%(\w+)\n((?:    .*\n)+)", text, re.MULTILINE))


def commands_of(commands: str, folder: Path, *programs: str) -> list[str]:
    """The commands by which the shell `commands` call `programs`, which do nothing."""
    bin_ = folder / "bin"
    log = folder / "log"
    log.write_text("")
    for name in programs:
        script(bin_ / name, f'echo "{name} $*" >>{log}')
    commands = commands.replace("cd /roundtrip", f"cd {folder}")
    environment = {"PATH": str(bin_), "APPTAINER_ROOTFS": "/rootfs"}
    shell = str(shutil.which("sh"))
    subprocess.run([shell, "-ec", commands], env=environment, cwd=folder, check=True)
    return log.read_text().splitlines()


APT = [
    "apt-get update",
    "apt-get install -y --no-install-recommends ca-certificates git make",
    "make setup",
]


def test_a_container_is_set_up_and_its_test_is_a_campaign(tmp_path: Path) -> None:
    stages = container_stages()
    assert commands_of(stages["ready"], tmp_path, "apt-get", "make") == APT
    assert commands_of(stages["test"], tmp_path, "make") == ["make campaign"]


def test_a_container_of_rocky_linux_gets_the_repositories_that_it_needs(tmp_path: Path) -> None:
    assert commands_of(container_stages()["ready"], tmp_path, "dnf", "crb", "make") == [
        "dnf install -y epel-release git make",
        "crb enable",
        "make setup",
    ]


def test_an_apptainer_image_is_set_up_and_its_test_is_a_campaign(tmp_path: Path) -> None:
    sections = apptainer_sections()
    clone = "git clone --quiet . /rootfs/roundtrip"
    assert commands_of(sections["setup"], tmp_path, "git") == [clone]
    assert commands_of(sections["post"], tmp_path, "apt-get", "make") == APT
    for name in ("test", "runscript"):
        assert commands_of(sections[name], tmp_path, "make") == ["make campaign"]


@pytest.mark.parametrize("folder", [".venv", "build", "runs"])
def test_what_was_built_here_stays_out_of_a_container(folder: str) -> None:
    assert folder in (ROOT / ".containerignore").read_text().splitlines()
