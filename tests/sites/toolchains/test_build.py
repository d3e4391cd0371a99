"""The self-test rejects what is not the toolchain it should be, and passes those built here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from roundtrip import paths
from roundtrip.sites.toolchains import plan
from roundtrip.sites.toolchains.build import check_toolchain, selftest_faults
from roundtrip.sites.toolchains.plan import BuildError, Store
from roundtrip.sites.toolchains.spec import catalogue

SMOKE, TOOLCHAINS = catalogue().smoke, catalogue().toolchains
OPENMPI = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"


@pytest.fixture
def openmpi(monkeypatch: pytest.MonkeyPatch) -> plan.Plan:
    versions = {"openmpi-bin": "4.1.4-3", "mpich": "4.0.2"}
    monkeypatch.setattr(plan, "installed_packages", lambda names: versions)
    monkeypatch.setattr(plan, "compiler_version", lambda: "12.2.0")
    return plan.toolchain_plan(TOOLCHAINS["openmpi41-boost181"])


def test_right_answer(openmpi: plan.Plan) -> None:
    assert selftest_faults(openmpi, f"a warning of mpirun\n2\n321\n1_81\n{OPENMPI}\n") == []
    mpich = plan.toolchain_plan(TOOLCHAINS["mpich40-boost174"])
    assert selftest_faults(mpich, "2\n321\n1_74\nMPICH Version:\t4.0.2\n") == []
    smpi = plan.toolchain_plan(TOOLCHAINS["smpi-boost181"])
    answer = "SMPI Version 3.32. Copyright The SimGrid Team"
    assert selftest_faults(smpi, f"2\n321\n1_81\n{answer}\n") == []


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ("", "no complete answer"),
        (f"1\n321\n1_81\n{OPENMPI}\n", "1 ranks instead of 2"),
        (f"2\n320\n1_81\n{OPENMPI}\n", "received 320"),
        (f"2\n321\n1_74\n{OPENMPI}\n", "Boost headers are 1_74"),
        ("2\n321\n1_81\nOpen MPI v4.1.45, ident\n", "not 4.1.4"),
        ("2\n321\n1_81\nOpen MPI v4.1.4.1, ident\n", "not 4.1.4"),
        ("2\n321\n1_81\nMPICH Version: 4.1.4\n", "the MPI library is 'MPICH"),
    ],
)
def test_wrong_answers(openmpi: plan.Plan, output: str, fault: str) -> None:
    (message,) = selftest_faults(openmpi, output)
    assert fault in message


def copy_of(prefix: Path, folder: Path) -> Path:
    """A prefix with the headers and libraries of another, for a self-test to write into."""
    copy = folder / "prefix"
    copy.mkdir()
    for name in ("include", "lib"):
        (copy / name).symlink_to(prefix / name)
    return copy


def built(name: str) -> tuple[plan.Plan, Path, Path]:
    store = Store(paths.toolchains())
    if plan.states([TOOLCHAINS[name]], store)[name] != "good":
        if name in SMOKE and os.environ.get("CI") == "true":
            pytest.fail(f"set-up did not build {name}")
        pytest.skip(f"{name} is not built: roundtrip toolchains {name}")
    toolchain_plan = plan.toolchain_plan(TOOLCHAINS[name])
    return toolchain_plan, store.place(toolchain_plan.key), store.place(toolchain_plan.mpi.key)


@pytest.mark.live
@pytest.mark.parametrize("name", TOOLCHAINS)
def test_built_toolchain(name: str, tmp_path: Path) -> None:
    plan, prefix, mpi = built(name)
    record = json.loads((prefix / "toolchain.json").read_text())
    assert record["name"] == name
    assert record["key"] == plan.key
    assert record["mpi"]["version"] == plan.mpi.version
    assert record["boost"]["version"] == plan.toolchain.boost.version
    check_toolchain(plan, copy_of(prefix, tmp_path), mpi, tmp_path / "log")


@pytest.mark.live
def test_a_toolchain_with_the_mpi_of_another_is_caught(tmp_path: Path) -> None:
    plan, prefix, _ = built("openmpi41-boost181")
    _, _, mpi = built("mpich40-boost181")
    with pytest.raises(BuildError):
        check_toolchain(plan, copy_of(prefix, tmp_path), mpi, tmp_path / "log")
