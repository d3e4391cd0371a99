from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.sites import doctor, machine

RECORDED = machine.read_host(Path(__file__).parents[1] / "data" / "hosts" / "virtual-2-cores")
QUIET = replace(
    RECORDED,
    logical=8,
    usable=8,
    cores=8,
    virtual=False,
    governors=("performance",),
    turbo=False,
    load_averages=(0.0, 0.0, 0.0),
)
GOOD = {"openmpi41-boost181": "good"}


def levels(host: machine.Host) -> dict[str, str]:
    findings = doctor.diagnose_machine(host, [], GOOD)
    return {finding.topic: finding.level for finding in findings if finding.level != "ok"}


def test_the_recorded_virtual_machine() -> None:
    assert levels(RECORDED) == {"cores": "warn", "virtualisation": "warn"}


@pytest.mark.parametrize(
    ("change", "topic", "level"),
    [
        ({"usable": 1, "logical": 1}, "cores", "impossible"),
        ({"cores": 1}, "cores", "impossible"),
        ({"cores": 2}, "cores", "warn"),
        ({"quota": 4.0}, "oversubscription", "warn"),
        ({"quota": 1.5}, "oversubscription", "impossible"),
        ({"usable": 4}, "oversubscription", "warn"),
        ({"smt": True}, "SMT", "warn"),
        ({"governors": ("performance", "powersave")}, "governor", "warn"),
        ({"turbo": True}, "turbo", "warn"),
        ({"load_averages": (0.6, 0.0, 0.0)}, "load", "warn"),
        ({"virtual": True}, "virtualisation", "warn"),
        ({"clocksource": "hpet"}, "clock source", "warn"),
        ({"swap_kib": 9000, "swap_used_kib": 5000}, "swap", "warn"),
        ({"thp": "always"}, "transparent huge pages", "warn"),
        ({"numa_nodes": 2, "numa_balancing": True}, "NUMA", "warn"),
    ],
)
def test_each_fault_is_found_with_advice(change: dict[str, object], topic: str, level: str) -> None:
    host = replace(QUIET, **change)  # type: ignore[arg-type]
    assert levels(host) == {topic: level}
    (finding,) = (item for item in doctor.diagnose_machine(host, [], GOOD) if item.topic == topic)
    assert finding.advice
    assert "\n" not in finding.detail + finding.advice
    assert doctor.can_measure([finding]) == (level == "warn")


@pytest.mark.parametrize(
    "change", [{}, {"quota": 8.0}, {"swap_kib": 9000}, {"numa_nodes": 2, "numa_balancing": False}]
)
def test_what_does_no_harm_is_ok(change: dict[str, object]) -> None:
    assert levels(replace(QUIET, **change)) == {}  # type: ignore[arg-type]


def test_a_shared_virtual_machine_is_named() -> None:
    dedicated_finding = doctor.check_virtualisation(replace(QUIET, virtual=True, steal_share=0.0))
    shared_finding = doctor.check_virtualisation(replace(QUIET, virtual=True, steal_share=0.05))
    assert "shared" not in dedicated_finding.advice
    assert "shared" in shared_finding.advice
    assert "5.00%" in shared_finding.detail


def test_packages_and_toolchains() -> None:
    assert "mpich" in doctor.check_packages(["mpich"]).detail
    assert doctor.check_packages(None).level == "warn"
    mpich = "mpich40-boost174"
    assert (
        doctor.check_toolchains({mpich: "stale", **GOOD}).advice == f"roundtrip toolchains {mpich}"
    )
    assert doctor.check_toolchains({mpich: "not built"}).level == "warn"
    finding = doctor.check_toolchains({mpich: "not built", **GOOD})
    assert (finding.level, finding.detail) == ("ok", "1 of 2 built")


@pytest.mark.parametrize(("usable", "status"), [(2, 0), (1, 1)])
def test_command_fails_only_where_measuring_is_impossible(
    monkeypatch: pytest.MonkeyPatch, usable: int, status: int
) -> None:
    monkeypatch.setattr(machine, "read_host", lambda: replace(QUIET, usable=usable, logical=usable))
    result = CliRunner().invoke(app, ["doctor", "--quick"])
    assert result.exit_code == status
    assert ("impossible" in result.output) == (status == 1)
