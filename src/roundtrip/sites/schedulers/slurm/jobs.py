"""Jobs in Slurm's queue, its maintenances, and waiting for its answer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.sites.schedulers.interface import (
    Maintenance,
    NoAnswerError,
    PendingJob,
    Scheduler,
)
from roundtrip.sites.schedulers.slurm.facts import scontrol_records

#: sbatch's message and the limits on submitted jobs; a job that may never run has others.
_LIMIT = re.compile(
    r"job submit limit|(?:Assoc|QOS)\w*MaxSubmit\w*|(?:Assoc|QOS)GrpSubmit\w*|MaxJobCount"
)
#: Job, state, reason, expected start, submission time, comment, which may hold any character.
_FORMAT = "%i|%T|%r|%S|%V|%k"


class Jobs(Scheduler):
    """What Slurm answers of jobs."""

    wrappers: Path = Path(__file__).parent / "commands"

    def job_options(self, comment: str = "") -> list[str]:
        mark = [f"--job-option=comment={comment}"] if comment else []
        # Slurm may hold a requeued job for ever ("launch failed requeued held"), and ReFrame waits.
        return [*mark, "--job-option=--no-requeue"]

    def node_options(self, nodes: Sequence[str], access: Iterable[str] = ()) -> list[str]:
        # If a partition requests one switch, a pair on two switches would wait for ever.
        asks_one_switch = any("--switches" in option for option in access)
        return [f"--nodelist={','.join(nodes)}", *(["--switches=2"] if asks_one_switch else [])]

    def count_options(self, nodes: int) -> list[str]:
        # It comes after any --nodes that ReFrame adds, and the last option wins.
        return [f"--nodes={nodes}"]

    def patient_environment(
        self, base: Mapping[str, str], deadline: float, log: Path | None
    ) -> dict[str, str]:
        variables = {"ROUNDTRIP_SLURM_DEADLINE": str(int(deadline))}
        if log:
            variables["ROUNDTRIP_SLURM_LOG"] = str(log)
        return {**base, "PATH": f"{self.wrappers}:{base['PATH']}", **variables}

    def is_no_answer(self, text: str) -> bool:
        return not subprocess.run([self.wrappers / "retry", text.replace("\0", "")]).returncode

    def is_submit_limit(self, text: str) -> bool:
        return _LIMIT.search(text) is not None

    def cancel(self, comment: str, environment: Mapping[str, str]) -> list[str]:
        """Cancel as the interface says; UserError and NoAnswerError, too."""
        if shutil.which("squeue", path=environment.get("PATH")) is None:
            return []
        query = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i %k"]
        listing = subprocess.run(query, capture_output=True, text=True, env=environment)
        self._require(listing, "cannot see which jobs there are")
        lines = (line.partition(" ") for line in listing.stdout.splitlines())
        jobs = [job for job, _, text in lines if text.strip() == comment]
        if jobs:
            command = ["scancel", *jobs]
            process = subprocess.run(command, capture_output=True, text=True, env=environment)
            self._require(process, f"cannot cancel jobs {' '.join(jobs)}")
        return jobs

    def _require(self, process: subprocess.CompletedProcess[str], problem: str) -> None:
        if not process.returncode:
            return
        error = process.stderr.strip()
        if self.is_no_answer(error):
            raise NoAnswerError(error)
        raise UserError(f"{problem}: {error.splitlines()[-1] if error else 'no reason given'}")

    def pending_job(
        self, comment: str, environment: Mapping[str, str], timeout_s: float
    ) -> PendingJob | None:
        command = ["squeue", "--noheader", "--me", "--states=PENDING", f"--format={_FORMAT}"]
        return parse_pending(_query(command, environment, timeout_s), comment)

    def maintenances(self, environment: Mapping[str, str]) -> list[Maintenance]:
        command = ["scontrol", "show", "reservation", "--oneliner"]
        return parse_maintenances(_query(command, environment))


def _query(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float | None = None
) -> str:
    """What a command of Slurm prints, with times in seconds since 1970; "" without an answer."""
    env = {**environment, "SLURM_TIME_FORMAT": "%s"}
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout


def parse_pending(listing: str, comment: str) -> PendingJob | None:
    """Return the first job with `comment` that waits in squeue's output; None without one."""
    for line in listing.splitlines():
        fields = line.split("|", 5)
        if len(fields) != 6 or fields[1] != "PENDING" or fields[5].strip() != comment:
            continue
        job, _, reason, start, submit_time, _ = fields
        times = (float(text) if text.isdigit() else None for text in (submit_time, start))
        # None: the scheduler has not looked at it yet.
        return PendingJob(job, "" if reason == "None" else reason, *times)
    return None


def parse_maintenances(text: str) -> list[Maintenance]:
    """Parse ``scontrol show reservation --oneliner``: maintenances, sorted by end.

    Times are in the local zone, or seconds since 1970 with ``SLURM_TIME_FORMAT=%s``.
    """
    maintenances = []
    for fields in scontrol_records(text):
        if "MAINT" not in fields.get("Flags", "").split(","):
            continue
        start, end = (_seconds(fields.get(key, "")) for key in ("StartTime", "EndTime"))
        if start is not None and end is not None:
            name, nodes = fields.get("ReservationName", "?"), fields.get("Nodes", "nodes")
            maintenances.append(Maintenance(name, nodes, start, end))
    return sorted(maintenances, key=lambda maintenance: maintenance.end)


def _seconds(text: str) -> float | None:
    try:
        return float(text) if text.isdigit() else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
