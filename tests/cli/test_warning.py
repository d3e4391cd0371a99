"""A campaign with too few launches for its claims is warned of before it measures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from roundtrip.cli import app, run
from roundtrip.errors import UserError
from roundtrip.measure import matrix, tree
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.sites.site import Case

DECLARED = """\
title = "t"
launches = {launches}
time_limit_minutes = 60
[[check]]
name = "NetPIPE"
"""
PARAMETERS = (("mode", "pingpong"), ("placement", "shared-memory"), ("variants", "five"))
PARTITIONS = {"smp": {"scheduler": "local"}}


def roundtrip_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    launches: int,
    *options: str,
    simulated: bool = False,
) -> Result:
    """``roundtrip run`` of eight primary claims, up to where it would begin to measure."""
    campaign = tmp_path / "night.toml"
    campaign.write_text(DECLARED.format(launches=launches))
    cases = [Case("NetPIPE", PARAMETERS, "0" * 8, "box", "smp", name) for name in ("a", "b")]
    expected = (
        ExpectedCase(case, "netpipe.py", (), "netpipe", simulated=simulated) for case in cases
    )
    plan = Matrix(tuple(expected), ())

    def measuring(*_: Any) -> None:
        raise UserError("it would measure")

    site = SimpleNamespace(
        name="box", spack=None, partitions=PARTITIONS, system={}, toolchains={}, folder=tmp_path
    )
    monkeypatch.setattr(run, "Site", lambda name, checkout: site)
    monkeypatch.setattr(matrix, "build_matrix", lambda campaign, site: plan)
    monkeypatch.setattr(tree, "hold_site", measuring)
    return CliRunner().invoke(app, ["run", str(campaign), "--site", "box", *options])


@pytest.mark.parametrize(
    ("launches", "options", "warning"),
    [
        (
            6,
            [],
            "6 launches of each case support 8 primary claims only together: 6 must be as clear "
            "as can be before any gets a verdict; 9 are enough",
        ),
        (
            5,
            ["--allow-underpowered"],
            "5 launches of each case support none of 8 primary claims; 9 are enough",
        ),
    ],
)
def test_what_cannot_be_claimed_is_one_warning_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launches: int, options: list[str], warning: str
) -> None:
    result = roundtrip_run(tmp_path, monkeypatch, launches, *options)
    assert str(result.exception) == "it would measure"
    assert result.stderr == f"warning: {warning}\n"
    assert result.stdout == ""
    dry_run = roundtrip_run(tmp_path, monkeypatch, launches, *options, "--dry-run")
    assert dry_run.exit_code == 0
    assert dry_run.stdout.splitlines()[-1] == f"warning: {warning}"


def test_nobody_is_warned_of_enough_launches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = roundtrip_run(tmp_path, monkeypatch, 9)
    assert str(result.exception) == "it would measure"
    assert result.stderr == ""
    assert "warning" not in roundtrip_run(tmp_path, monkeypatch, 9, "--dry-run").output


def test_a_simulation_does_not_wait_for_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beyond(*_: Any) -> None:
        raise UserError("it goes on")

    monkeypatch.setattr(tree, "create_tree", beyond)
    result = roundtrip_run(tmp_path, monkeypatch, 9, simulated=True)
    assert str(result.exception) == "it goes on"


def test_the_option_has_its_old_name_too_and_says_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = roundtrip_run(tmp_path, monkeypatch, 5, "--allow-mute")
    assert str(result.exception) == "it would measure"
    assert result.stderr.startswith("warning: --allow-mute is called --allow-underpowered now\n")
