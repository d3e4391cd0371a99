"""How one rank is started that lists the options of OSU's programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
#: The command of a partition's launcher, in an environment with extras.
ASK = """\
import json, sys
from types import SimpleNamespace
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.schedulers import Job
from checks.osu.suite import find_osu
job = Job.create(getscheduler("local")(), getlauncher(sys.argv[1])(), name="asks")
environment = SimpleNamespace(extras=json.loads(sys.argv[2]))
check = SimpleNamespace(simulated=False, current_environ=environment, build_job=job)
print(find_osu.one_rank_command(check))
"""


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
    process = subprocess.run(
        [sys.executable, "-c", ASK, partition, json.dumps(extras)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == command
