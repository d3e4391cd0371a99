"""Trials of the MPIs of a site: two ranks, run by ReFrame, and the faults in their output.

ReFrame runs them so that scheduler, launcher and variables are those of the site.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.sites import launching, schedulers
from roundtrip.sites.data import RDMA_FABRICS
from roundtrip.sites.site import Site, last_line

_RANK_PREFIX, _NODE_PREFIX = "ROUNDTRIP SEES ", "ROUNDTRIP NODE "
#: Patterns of the transport in messages of UCX, of Open MPI, and of MPICH with libfabric.
_TRANSPORT_PATTERNS = (
    re.compile(r"(?:ep_cfg\[\d+\]:|inter-node cfg#\d+) tag\(((?!self)[^)]+)\)"),
    re.compile(r"mca: bml: Using (?!self)(\w+) btl for send"),
    re.compile(r"^(?:libfabric )?provider(?: name)?: (\S+?),?(?: |$)", re.MULTILINE),
)


@dataclass(frozen=True)
class RankReport:
    """What one `rank` of `ranks` printed: its node, and its facts from /proc and MPI."""

    rank: int
    ranks: int
    host: str
    cpus: str
    online: str
    memlock: str
    mpi: str
    pmi: dict[str, str]
    pmix_client: str

    @property
    def process_manager(self) -> str:
        """``PMIx client 5.0.1, server 4.2.2``, ``PMI`` or ``no PMI``."""
        if self.pmi.get("PMIX_NAMESPACE"):
            server = _find_version(self.pmi.get("PMIX_VERSION", ""))
            return f"PMIx client {_find_version(self.pmix_client)}, server {server}"
        return "PMI" if self.pmi.get("PMI_RANK") else "no PMI"


@dataclass(frozen=True)
class TrialOutput:
    """Output of a trial: its ranks by number, and the inter-node transports named by the MPI."""

    ranks: tuple[RankReport, ...]
    transports: tuple[str, ...]

    @property
    def hosts(self) -> list[str]:
        """Nodes, each once."""
        return list(dict.fromkeys(rank.host for rank in self.ranks))


def parse_trial_output(output: str, errors: str) -> TrialOutput:
    """Parse a job's standard output and error; lines of several ranks may be interleaved."""
    ranks = []
    for fields in _json_objects_after(output, _RANK_PREFIX):
        fields |= {key: fields[key].strip() for key in ("cpus", "online")}
        ranks.append(RankReport(**{**fields, "memlock": fields["memlock"].split()[0]}))
    text = output + "\n" + errors
    names = {name.strip() for pattern in _TRANSPORT_PATTERNS for name in pattern.findall(text)}
    ranks.sort(key=lambda rank: (rank.rank, rank.host))
    return TrialOutput(tuple(ranks), tuple(sorted(names)))


def _json_objects_after(text: str, prefix: str) -> Iterator[dict[str, Any]]:
    for part in text.split(prefix)[1:]:
        with contextlib.suppress(json.JSONDecodeError):
            yield json.JSONDecoder().raw_decode(part)[0]


def _find_version(text: str) -> str:
    match = re.search(r"\d+\.\d+[.\w]*", text)
    return match[0] if match else "of unknown version"


def start_fault(output: TrialOutput | None, nodes: int) -> str | None:
    """Return why `output` is not of two ranks of one program on `nodes` nodes; None if it is."""
    if output is None:
        return "does not start"
    if {rank.ranks for rank in output.ranks} == {1}:
        return f"starts {len(output.ranks)} programs of one rank: they do not use the PMI offered"
    if len(output.ranks) != 2:
        return f"{len(output.ranks)} of 2 ranks reported"
    if len(output.hosts) != nodes:
        return f"both ranks are on {output.hosts[0]}, not on {nodes} nodes"
    return None


def binding_fault(output: TrialOutput, extras: Mapping[str, Any]) -> str | None:
    """Return how the binding of ranks differs from the partition's; None if it does not."""
    if extras.get("binding") != "core":
        return None
    for rank in output.ranks:
        if rank.cpus == rank.online:
            return f"rank {rank.rank} is not bound: it may run on {rank.cpus} of {rank.online}"
    first, second = output.ranks
    if first.host == second.host and first.cpus == second.cpus:
        return f"both ranks are bound to {first.cpus}"
    return None


def node_faults(output: TrialOutput, extras: Mapping[str, Any], daemon: str) -> list[str]:
    """Return the faults of nodes of a partition with these `extras`; `daemon` starts ranks."""
    return [
        f"{rank.host} lets a rank pin {rank.memlock} bytes: RDMA needs `unlimited` "
        f"(/etc/security/limits.conf, and {daemon}'s own limit)"
        for rank in output.ranks
        if extras.get("fabric") in RDMA_FABRICS and rank.memlock != "unlimited"
    ]


def describe_trial(output: TrialOutput) -> str:
    """Return the facts of a trial in one line: ranks, hosts, binding, transport, PMI, MPI."""
    rank0 = output.ranks[0]
    binding = ", ".join(f"{rank.cpus} of {rank.online}" for rank in output.ranks)
    transport = ", ".join(output.transports) or "not named by the MPI"
    return (
        f"{len(output.ranks)} ranks on {', '.join(output.hosts)}; may run on processors {binding}; "
        f"transport {transport}; {rank0.process_manager}; pinned memory {rank0.memlock}; "
        f"{rank0.mpi}"
    )


#: A launcher of ReFrame and its options; empty: those of the site.
LauncherCommand = tuple[str, ...]
#: Called with a line before a job is submitted: on a busy cluster it may wait for hours.
JobAnnouncer = Callable[[str], None]
#: Keys of a case in ReFrame's report that name files; the texts of the files replace the names.
_OUTPUT_FILE_KEYS = ("build_stdout", "build_stderr", "job_stdout", "job_stderr")
#: A line of MPICH's error stack; the last line is the cause: `MPI_Init(70)...: it failed`.
_MPICH_ERROR_PATTERN = re.compile(r"^\w+\(\d+\)\.*: +(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class TrialTarget:
    """A toolchain (`environ`), and the partition on which it is tried."""

    partition: str
    environ: str


@dataclass(frozen=True)
class Trial:
    """The output of one job, or None and the `reason` why it did not start."""

    target: TrialTarget
    launcher_command: LauncherCommand
    output: TrialOutput | None
    reason: str = ""


def trial_targets(site: Site) -> list[TrialTarget]:
    """Return the first partition and toolchain for each MPI with each transport."""
    by_mpi: dict[tuple[str, ...], TrialTarget] = {}
    for name, partition in site.partitions.items():
        for environ in partition["environs"]:
            extras = site.toolchains.get(environ, {}).get("extras", {})
            by_mpi.setdefault(launching.rank_start_key(extras), TrialTarget(name, environ))
    return list(by_mpi.values())


def collect_interfaces(
    site: Site, target: TrialTarget, announce: JobAnnouncer
) -> dict[str, set[str]]:
    """The network interfaces of nodes by host, without lo, by a job; UserError if none runs."""
    announce(f"a job to {target.partition}: which network interfaces its nodes have")
    (case,) = _run_trial_cases(site, target.partition, [target.environ], "Nodes", [()])
    nodes = list(_json_objects_after(case["job_stdout"], _NODE_PREFIX))
    if not nodes:
        raise UserError(f"no job runs on partition '{target.partition}': {_failure_reason(case)}")
    return {node["host"]: {*node["interfaces"].split()} - {"lo"} for node in nodes}


def run_trials(
    site: Site,
    plan: Iterable[tuple[TrialTarget, Sequence[LauncherCommand]]],
    announce: JobAnnouncer,
) -> list[Trial]:
    """Run a job of each toolchain on its partition by each launcher; UserError if ReFrame fails."""
    groups: dict[tuple[str, tuple[LauncherCommand, ...]], list[str]] = defaultdict(list)
    for target, commands in plan:
        groups[target.partition, tuple(commands)].append(target.environ)
    trials = []
    for (partition, commands), environs in groups.items():
        launch_options = " and ".join(" ".join(command) for command in commands if command)
        suffix = f", each by {launch_options}" if launch_options else ""
        announce(f"jobs to {partition}, one after another: {', '.join(environs)}{suffix}")
        cases = _run_trial_cases(site, partition, environs, "Start", commands)
        builds, launches = {}, []
        for case in cases:
            if str(case["display_name"]).startswith("build_rank"):
                builds[case["environ"]] = case
            else:
                launches.append(case)
        trials += [
            _trial_of_case(case, builds.get(case["environ"]), partition, commands)
            for case in launches
        ]
    return trials


def _run_trial_cases(
    site: Site,
    partition: str,
    environs: Sequence[str],
    check: str,
    commands: Sequence[LauncherCommand],
) -> list[dict[str, Any]]:
    """Run ReFrame; return the cases of its report, with the texts of their output files."""
    # Below the folder of runs, because compute nodes do not see /tmp of the login node.
    runs = Path(site.environment["RFM_PREFIX"]).parent
    with tempfile.TemporaryDirectory(prefix="live-", dir=runs) as name:
        folder = Path(name)
        report = folder / "report.json"
        command = [
            "reframe",
            f"--checkpath={site.checkout}/reframe/live/start.py",
            "--run",
            f"--name=^{check}",
            "--exec-policy=serial",
            "--keep-stage-files",
            f"--prefix={folder}",
            f"--perflogdir={folder / 'perflogs'}",
            f"--report-file={report}",
            f"--system={site.name}:{partition}",
            f"--prgenv=^({'|'.join(environs)})$",
            *schedulers.scheduler_of_partition(site.partitions[partition]).reframe_job_options(),
        ]
        environment = {
            **site.environment,
            "ROUNDTRIP_STARTS": json.dumps(commands),
            "RFM_SQLITE_DB_FILE": str(folder / "results.db"),
        }
        process = subprocess.run(
            command, cwd=site.checkout, env=environment, capture_output=True, text=True
        )
        if not report.is_file():
            raise UserError(f"ReFrame tried nothing: {last_line(process.stdout + process.stderr)}")
        cases: list[dict[str, Any]] = files.read_json(report)["runs"][-1]["testcases"]
        for case in cases:
            for key in _OUTPUT_FILE_KEYS:
                file = Path(case.get("stagedir") or "/nonexistent", case.get(key) or "nothing")
                case[key] = file.read_text(errors="replace") if file.is_file() else ""
        return cases


def _trial_of_case(
    case: dict[str, Any],
    build: dict[str, Any] | None,
    partition: str,
    commands: Sequence[LauncherCommand],
) -> Trial:
    command_by_name = {"-".join(command) or "site": command for command in commands}
    command = command_by_name.get(str(case["display_name"]).rpartition("start=")[2], ())
    target = TrialTarget(partition, case["environ"])
    if build and build["result"] == "fail":
        return Trial(target, command, None, f"it does not compile: {_failure_reason(build)}")
    output = parse_trial_output(case["job_stdout"], case["job_stderr"])
    if output.ranks:
        return Trial(target, command, output)
    return Trial(target, command, None, _failure_reason(case))


def _failure_reason(case: dict[str, Any]) -> str:
    """Why a case failed: the line of its output that names an error, or ReFrame's reason."""
    text = "\n".join(case[key] for key in _OUTPUT_FILE_KEYS)
    if stack := _MPICH_ERROR_PATTERN.findall(text):
        return str(stack[-1])
    chatter = re.compile(r"UCX +(DIAG|INFO|DEBUG|TRACE)")
    lines = [line.strip() for line in text.splitlines() if not chatter.search(line)]
    errors = [line for line in lines if re.search(r"rror\b|annot|nable to|not found|efused", line)]
    reason = (case.get("fail_reason") or "it wrote nothing").strip().splitlines()[0]
    return errors[0] if errors else reason
