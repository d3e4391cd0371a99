"""Tests a toolchain: compiles a Boost.MPI program, runs it on two ranks, checks the answer."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from roundtrip.collect import identity
from roundtrip.toolchains import simgrid
from roundtrip.toolchains.plan import Plan
from roundtrip.toolchains.process import BuildError, clean_environment, run

_SOURCE = Path(__file__).with_name("selftest.cpp")


def run_environment() -> dict[str, str]:
    """An environment in which two ranks run anywhere, also as root and on one core."""
    environment = clean_environment()
    environment |= {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return environment


def faults(plan: Plan, output: str) -> list[str]:
    """What is wrong with the answer of the program; [] if nothing is."""
    lines = output.strip().splitlines()[-4:]
    if len(lines) < 4:
        return ["the self-test printed no complete answer"]
    ranks, total, boost, library = lines
    found = []
    if ranks != "2":
        found.append(f"{ranks} ranks instead of 2: compiler and mpirun are of different MPIs")
    if total != "321":
        found.append(f"received {total} instead of 321")
    if boost.replace("_", ".") != plan.toolchain.boost.series:
        found.append(f"Boost headers are {boost}, not {plan.toolchain.boost.series}")
    says = plan.toolchain.mpi.of_family.answers
    if not identity.is_version(library, says, plan.mpi.version, exactly=True):
        found.append(f"the MPI library is {library!r}, not {plan.mpi.version}")
    return found


def selftest(plan: Plan, prefix: Path, mpi: Path, log: Path) -> None:
    """Test the toolchain in `prefix` with the MPI in `mpi`; BuildError if it does not work."""
    program, lib = prefix / "selftest", prefix / "lib"
    command = [str(mpi / "bin" / "mpicxx"), "-std=c++20", "-isystem", str(prefix / "include")]
    command += [str(_SOURCE), "-o", str(program), f"-L{lib}", f"-Wl,-rpath,{lib}"]
    run("compiling the self-test", [*command, "-lboost_mpi", "-lboost_serialization"], log)
    launch: list[str | Path] = [mpi / "bin" / "mpirun", "-n", "2"]
    with tempfile.TemporaryDirectory() as folder:
        if plan.toolchain.mpi.of_family.simulator:
            launch += simgrid.two_hosts(Path(folder))
        env = run_environment()
        output = run("running the self-test", [*launch, program], log, env=env, timeout=120)
    program.unlink()
    if found := faults(plan, output):
        raise BuildError("self-test: " + "; ".join(found), log, output)
