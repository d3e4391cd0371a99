"""How one rank is started that lists the options of OSU's programs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.schedulers import Job

from checks.osu.suite import find_osu


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
    assert find_osu.one_rank_command(check) == command
