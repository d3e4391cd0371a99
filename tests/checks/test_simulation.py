"""What a launch on simulated hosts finds in its folder, and for how long it may run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks.mixins.simulation import Simulation
from roundtrip.sites import simgrid

PLATFORMS = Path(__file__).parents[2] / "site-configs" / "simulated" / "platforms"


def launched(folder: Path, time_limit: float | None) -> SimpleNamespace:
    """A launch of four ranks on `odin`, its hook run."""
    check = SimpleNamespace(
        simulated=True,
        simulation={"platform": "odin", "host_flops": 1e9},
        platform_file=PLATFORMS / "odin.xml",
        current_environ=SimpleNamespace(extras={"mpi_version": "3.32"}),
        stagedir=folder,
        num_tasks=4,
        env_vars={},
        keep_files=[],
        time_limit=time_limit,
    )
    check.lay_out = lambda ranks: Simulation.lay_out(check, ranks)
    Simulation.lay_out_the_platform(check)
    return check


@pytest.mark.parametrize(("budget", "expected"), [(150.0, 3600), (None, 3600), (7200.0, 7200)])
def test_a_budget_of_simulated_time_limits_no_real_time(
    tmp_path: Path, budget: float | None, expected: float
) -> None:
    assert launched(tmp_path, budget).time_limit == expected


def test_what_simulated_a_program_of_others_is_recorded(tmp_path: Path) -> None:
    check = launched(tmp_path, None)
    assert (tmp_path / simgrid.HOSTS_FILE).read_text().split() == [f"odin{n}" for n in range(4)]
    record = Simulation.simulated_by.fget(check)
    assert record == {
        "simgrid": "3.32",
        "platform": check.env_vars[simgrid.NAME_VARIABLE],
        "platform_sha256": check.env_vars[simgrid.SHA256_VARIABLE],
        "host_flops": json.loads(check.env_vars[simgrid.FLOPS_VARIABLE]),
    }
    check.simulated = False
    assert Simulation.simulated_by.fget(check) is None
