"""A launch, and what its folder holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from roundtrip import files
from roundtrip.collect import identity, link, records, samples, seal
from roundtrip.errors import UserError

Status = Literal["passed", "partial", "failed", "displaced", "skipped"]
SAMPLES = "samples.csv"
_FILES = ("case.json", "run.json", SAMPLES, link.FILE_NAME, identity.ALLOCATION)


@dataclass(frozen=True)
class Launch:
    """One job.  `id` is ``<round>/<environ>/<folder name>``; `folder` is None if it left none.

    `case` and `run` are the contents of case.json and run.json, empty if they cannot be read.
    `nodes` are what Slurm allocated to it.  `disturbed` says why its timings are doubtful; a
    disturbed launch is kept.  `digest` is the sha256 of samples.csv, "" if the launch failed,
    `rows` that of its rows alone.  `nodes_down` are those of a failed launch that, Slurm says, went
    down.  `round` is the folder of its session, `campaign_round` the round
    of that session, None if it is not recorded.
    """

    id: str
    case_id: str
    status: Status
    reason: str
    round: str
    environ: str
    folder: Path | None = None
    case: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    nodes_down: tuple[str, ...] = ()
    disturbed: tuple[str, ...] = ()
    digest: str = ""
    rows: str = ""
    campaign_round: int | None = None

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """The case, and the nodes that the launch was told to take; () if the scheduler chose."""
        return self.case_id, tuple(self.case.get("hosts", ()))

    @property
    def sealed(self) -> bool:
        """Whether run.json has a seal of the samples."""
        return bool(self.run) and seal.is_whole(self.run["samples"])


@dataclass(frozen=True)
class Contents:
    """case.json and run.json (empty if bad), the nodes of its job, the other jobs on them in words
    or "", the digest of samples.csv and that of its rows, the first fault or ""."""

    case: dict[str, Any]
    run: dict[str, Any]
    nodes: tuple[str, ...]
    beside: str
    digest: str
    rows: str
    fault: str


def contents(root: Path, folder: Path) -> Contents:
    """The content of the folder of a launch in the run tree `root`.

    The result is cached, because a campaign scans its tree again after each round.
    """
    return _contents(root, folder, tuple(files.stamp(folder / name) for name in _FILES))


@cache
def _contents(root: Path, folder: Path, stamps: tuple[tuple[int, ...], ...]) -> Contents:
    case: dict[str, Any] = {}
    run: dict[str, Any] = {}
    nodes: tuple[str, ...] = ()
    beside = digest = rows = ""
    try:
        case = records.read(folder / "case.json", root)
        allocation = _allocation(folder, root, case)
        nodes, beside = (allocation.nodes, allocation.beside) if allocation else ((), "")
        run = records.read(folder / "run.json", root)
        content = files.read_in_tree(folder / SAMPLES, root, files.MOST_SAMPLES)
        digest, rows = seal.digest(content), seal.digest_of_rows(content)
        read = samples.parse_confined(content, folder / SAMPLES)
        fault = _fault(case, run, read, digest)
        if not fault and (crossed := link.read(folder, root)):
            fault = link.fault(crossed)
        fault = fault or _other_identity(case, run, allocation, read)
    except UserError as error:
        fault = str(error)
    return Contents(case, run, nodes, beside, digest, rows, fault.replace(f"{folder}/", ""))


def other_identity(folder: Path) -> str:
    """Whether the launch in `folder` ran something else, or elsewhere, than was asked for; "" if
    not.  UserError if its files cannot be read."""
    case, run = records.read(folder / "case.json"), records.read(folder / "run.json")
    read = samples.read(folder / SAMPLES)
    return _other_identity(case, run, _allocation(folder, folder, case), read)


def _allocation(folder: Path, root: Path, case: dict[str, Any]) -> identity.Allocation | None:
    needed = identity.needs_allocation(case)
    return identity.Allocation.read(folder, root) if needed else None


def _other_identity(
    case: dict[str, Any],
    run: dict[str, Any],
    allocation: identity.Allocation | None,
    read: samples.Samples,
) -> str:
    return identity.fault(case, run, allocation, int(read.frame["size_bytes"].sum()))


def _unmeasured(run: dict[str, Any]) -> str:
    """Why a launch whose budget was spent too early has no row."""
    budget, loads = run.get("budget_s"), (run.get("disturbance") or {}).get("load_average_start")
    seconds = f" of {budget:g} s" if isinstance(budget, int | float) else ""
    known = [one for one in loads or () if one is not None]
    load = f", at a load average of {max(known):.1f}" if known else ""
    return f"its budget{seconds} was spent before anything was measured{load}: give it a larger one"


def _fault(case: dict[str, Any], run: dict[str, Any], read: samples.Samples, digest: str) -> str:
    if not run["complete"]:
        return "run.json: the workload did not complete"
    if run["ranks"] != case.get("num_tasks", run["ranks"]):
        return f"ran with {run['ranks']} ranks instead of {case['num_tasks']}"
    if simulator := _simulator_fault(case, run):
        return simulator
    is_blank = [one.reason for one in read.problems] == [samples.NO_ROW]
    if is_blank and {one["status"] for one in run["points"]} == {"budget"}:
        return _unmeasured(run)
    if read.problems:
        more = len(read.problems) - 1
        return str(read.problems[0]) + (f" (and {more} more)" if more else "")
    studies = read.frame["study"].unique().to_list()
    if studies != [case["study"]]:
        return f"samples.csv is of study {', '.join(sorted(studies))}, not {case['study']}"
    return seal.fault(digest, read.frame, run["samples"])


def _simulator_fault(case: dict[str, Any], run: dict[str, Any]) -> str:
    """In words, that one of case.json and run.json says "simulated" and the other does not; ""."""
    if case["simulated"] == bool(run.get("simulated")):
        return ""
    if case["simulated"]:
        return "case.json says that it is simulated, but run.json names no simulator"
    return "run.json names a simulator, but case.json says that it is not simulated"
