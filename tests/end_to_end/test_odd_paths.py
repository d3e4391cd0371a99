"""A real campaign in paths with blanks and letters beyond ASCII: what can be run is reported."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.programs import CHECKOUT, needs, variables

from roundtrip.sites.toolchains.spec import catalogue

TOOLCHAIN = catalogue().smoke[0]
COPIED = ("campaigns", "checks", "reframe", "site-configs", "src", "workloads")
CAMPAIGN = f"""\
title = "[/b] Nachtprüfung"
launches = 2
allow_untold = true
time_limit_minutes = 60
[[check]]
name = "NetPIPE"
toolchains = ["{TOOLCHAIN}"]
parameters = {{ variants = ["five"], placement = ["shared-memory"], mode = ["pingpong"] }}
variables = {{ budget = 5, precision = 20, perturbation = 0, end = 4096 }}
"""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    needs(TOOLCHAIN),
]


def test_a_campaign_in_odd_paths(tmp_path: Path) -> None:
    checkout = tmp_path / "mein Prüf stand" / "check out"
    for folder in COPIED:
        shutil.copytree(CHECKOUT / folder, checkout / folder)
    campaign = tmp_path / "eine ablage ü" / "nacht prüfung.toml"
    campaign.parent.mkdir()
    campaign.write_text(CAMPAIGN)
    environment = variables(
        tmp_path,
        PYTHONPATH=str(checkout / "src"),
        ROUNDTRIP_RUNS=str(tmp_path / "Läufe aller Art"),
        ROUNDTRIP_REPORTS=str(tmp_path / "Be richte"),
    )

    def roundtrip(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = ["roundtrip", *map(str, arguments)]
        return subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=3000
        )

    process = roundtrip("run", campaign)
    assert process.returncode == 0, process.stderr
    page = Path(process.stdout.splitlines()[-1].removeprefix("report: "))
    assert page.parts[len(tmp_path.parts) :][:3] == ("Be richte", "nacht prüfung", "local")
    assert "[/b] Nachtprüfung</h1>" in page.read_text()
    verification = roundtrip("report", page.parent, "--verify")
    assert verification.returncode == 0, verification.stderr
