"""What ReFrame is told of a check, how it starts one rank, and what is mended in its modules."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest
import reframe.core.schedulers.local as local
import reframe.frontend.executors.policies as policies
from reframe.core import fields, variables
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import ReframeError, SkipTestError
from reframe.core.meta import RegressionTestMeta
from reframe.core.schedulers import Job

from checks import workarounds
from checks.mixins.record import Recorded
from checks.osu.osu import OSU, find_osu
from roundtrip.measure import identity

CHECKOUT = Path(__file__).parents[2]


def test_every_parameter_of_a_check_is_logged() -> None:
    files = (file.relative_to(CHECKOUT) for file in (CHECKOUT / "checks").rglob("*.py"))
    modules = [importlib.import_module(".".join(file.with_suffix("").parts)) for file in files]
    parameters = {
        f"{check.__name__}.{name}": parameter.is_loggable()
        for module in modules
        for check in vars(module).values()
        if isinstance(check, RegressionTestMeta)
        for name, parameter in check.param_space.params.items()
    }
    assert {"NPBAtScale.scale", "NPBAtScale.problem_class", "NetPIPE.mode"} <= parameters.keys()
    assert [name for name, is_logged in parameters.items() if not is_logged] == []


def test_why_a_check_skips_itself_is_in_its_report() -> None:
    """ReFrame's report has the loggable variables of a skipped test, and no reason."""
    assert "skip_reason" in dict(OSU.loggable_attrs())
    launch = SimpleNamespace(skip_reason="")
    with pytest.raises(SkipTestError, match="no osu_bw here"):
        OSU.skip(launch, "no osu_bw here")
    assert launch.skip_reason == "no osu_bw here"


@pytest.mark.parametrize(
    ("partition", "launcher", "command"),
    [
        ("srun", "srun", "srun --mpi=pmix"),
        ("srun", "mpirun", "mpirun -np 1 --mpi=pmix"),
        ("srunalloc", "mpirun", "mpirun -np 1 --mpi=pmix"),
        ("srunalloc", None, "srun --job-name=asks --ntasks=1 --mpi=pmix --nodes=1"),
        ("srunalloc", "srun", "srun --job-name=asks --ntasks=1 --mpi=pmix --nodes=1"),
    ],
)
def test_a_step_of_a_job_of_many_ranks_has_one_rank(
    partition: str, launcher: str | None, command: str
) -> None:
    extras = {"launcher_options": ["--mpi=pmix"], **({"launcher": launcher} if launcher else {})}
    job = Job.create(getscheduler("local")(), getlauncher(partition)(), name="asks")
    environment = SimpleNamespace(extras=extras)
    check = SimpleNamespace(simulated=False, current_environ=environment, build_job=job)
    assert find_osu.prepare_one_rank_command(check) == command


def test_a_script_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        *((local, "osext"), (local, "time"), (policies, "time")),
        *((module, "user_deprecation_warning") for module in (fields, variables)),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back afterwards
    importlib.reload(workarounds)
    script = tmp_path / "a b" / "job.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 7\n")
    script.chmod(0o755)
    assert local.osext.run_command_async(str(script)).wait() == 7


def declared_mpi(extras: dict[str, str]) -> object:
    launch = SimpleNamespace(current_environ=SimpleNamespace(extras=extras))
    return Recorded.declared_mpi.fget(launch)


@pytest.mark.parametrize(("mpi", "version"), [("mvapich2", "2.3.7-1"), ("mvapich", "4.0")])
def test_the_version_of_an_mpi_that_spack_builds_is_checked(mpi: str, version: str) -> None:
    declared = declared_mpi({"mpi": mpi, "mpi_version": version})
    case = {"environ": "e", "simulated": False, "mpi": declared}
    text = f"{mpi.upper()} Version      :\t{version.removesuffix('-1')}\nMVAP"
    rank = {"host": "a", "ranks": [0], "library": text}
    run = {"workload": "osu", "identity": [rank], "hosts": ["a"], "ranks": 1}
    assert identity.mismatch_reason(case, run, None, 0) == ""
    rank["library"] = "MPICH Version:\t4.3.0"
    fault = identity.mismatch_reason(case, run, None, 0)
    assert fault.endswith(f"but toolchain e is {mpi} {version}")


def test_a_version_that_nothing_tells_how_to_check_fails_the_launch() -> None:
    with pytest.raises(ReframeError, match=r"toolchains.toml: no \[family.newmpi\].* openmpi, mp"):
        declared_mpi({"mpi": "newmpi", "mpi_version": "1.0"})
    assert declared_mpi({"mpi": "newmpi"}) is None
