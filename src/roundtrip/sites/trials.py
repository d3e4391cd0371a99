"""Trials of the MPIs of a site: two ranks, run by ReFrame, and what is wrong with the output.

ReFrame runs them so that scheduler, launcher and variables are those of the site.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.campaign.scheduler import NO_REQUEUE, is_slurm
from roundtrip.campaign.site import Site
from roundtrip.errors import UserError

_RANK, _NODE = "ROUNDTRIP SEES ", "ROUNDTRIP NODE "
#: What names the transport, in the words of UCX, of Open MPI, and of MPICH with libfabric.
_TRANSPORTS = (
    re.compile(r"(?:ep_cfg\[\d+\]:|inter-node cfg#\d+) tag\(((?!self)[^)]+)\)"),
    re.compile(r"mca: bml: Using (?!self)(\w+) btl for send"),
    re.compile(r"^(?:libfabric )?provider(?: name)?: (\S+?),?(?: |$)", re.MULTILINE),
)


@dataclass(frozen=True)
class Rank:
    """One rank: its number, how many there are, its node, and what /proc says of it."""

    number: int
    ranks: int
    host: str
    cpus: str
    online: str
    memlock: str
    mpi: str
    pmi: dict[str, str]
    pmix_client: str

    @property
    def bound(self) -> bool:
        """Whether it may run on fewer processors than its node has."""
        return self.cpus != self.online

    @property
    def process_manager(self) -> str:
        """What client and server speak: ``PMIx 5.0.1 to 4.2.2``, ``PMI``, or nothing."""
        if self.pmi.get("PMIX_NAMESPACE"):
            client = _version(self.pmix_client) or "of unknown version"
            server = _version(self.pmi.get("PMIX_VERSION", "")) or "of unknown version"
            return f"PMIx client {client}, server {server}"
        return "PMI" if self.pmi.get("PMI_RANK") else "no PMI"


@dataclass(frozen=True)
class TrialOutput:
    """A trial: its ranks by number, and the transports between nodes that the MPI named."""

    ranks: tuple[Rank, ...]
    transports: tuple[str, ...]

    @property
    def hosts(self) -> list[str]:
        """Nodes, each once."""
        return list(dict.fromkeys(rank.host for rank in self.ranks))


def read_output(output: str, errors: str) -> TrialOutput:
    """From both streams of a job; ranks may write into each other's lines."""
    ranks = [_rank(one) for one in _objects(output, _RANK)]
    text = output + "\n" + errors
    named = [match for pattern in _TRANSPORTS for match in pattern.findall(text)]
    return TrialOutput(
        tuple(sorted(ranks, key=lambda rank: (rank.number, rank.host))),
        tuple(sorted({name.strip() for name in named})),
    )


def node_interfaces(output: str) -> dict[str, set[str]]:
    """Nodes of a survey, each with its network interfaces."""
    return {
        one["host"]: {name for name in one["interfaces"].split() if name != "lo"}
        for one in _objects(output, _NODE)
    }


def _objects(text: str, mark: str) -> list[dict[str, Any]]:
    decoder, found = json.JSONDecoder(), []
    for part in text.split(mark)[1:]:
        try:
            one, _ = decoder.raw_decode(part)
        except json.JSONDecodeError:
            continue
        found.append(one)
    return found


def _rank(said: dict[str, Any]) -> Rank:
    return Rank(
        number=said["rank"],
        ranks=said["ranks"],
        host=said["host"],
        cpus=said["cpus"].strip(),
        online=said["online"].strip(),
        memlock=said["memlock"].split()[0],
        mpi=said["mpi"],
        pmi=said["pmi"],
        pmix_client=said["pmix_client"],
    )


def _version(text: str) -> str | None:
    found = re.search(r"\d+\.\d+[.\w]*", text)
    return found[0] if found else None


_RDMA = ("infiniband", "roce")


def start_fault(told: TrialOutput | None, nodes: int) -> str | None:
    """Why these are not two ranks of one program on `nodes` nodes; None if they are."""
    if told is None:
        return "does not start"
    if {rank.ranks for rank in told.ranks} == {1}:
        return f"starts {len(told.ranks)} programs of one rank: they do not speak the PMI offered"
    if len(told.ranks) != 2:
        return f"{len(told.ranks)} of 2 ranks spoke"
    if len(told.hosts) != nodes:
        return f"both ranks are on {told.hosts[0]}, not on {nodes} nodes"
    return None


def binding_fault(told: TrialOutput, extras: Mapping[str, Any]) -> str | None:
    """Why ranks are not bound as the partition says."""
    if extras.get("binding") != "core":
        return None
    loose = [rank for rank in told.ranks if not rank.bound]
    if loose:
        rank = loose[0]
        return f"rank {rank.number} is not bound: it may run on {rank.cpus} of {rank.online}"
    first, second = told.ranks
    if first.host == second.host and first.cpus == second.cpus:
        return f"both ranks are bound to {first.cpus}"
    return None


def node_faults(told: TrialOutput, extras: Mapping[str, Any]) -> list[str]:
    """What of the partition's description is not so on its nodes."""
    return [
        f"{rank.host} lets a rank pin {rank.memlock} bytes: RDMA needs `unlimited` "
        "(/etc/security/limits.conf, and slurmd's own limit)"
        for rank in told.ranks
        if extras.get("fabric") in _RDMA and rank.memlock != "unlimited"
    ]


def describe(told: TrialOutput) -> str:
    """The facts of a trial in one line."""
    first = told.ranks[0]
    bound = ", ".join(f"{rank.cpus} of {rank.online}" for rank in told.ranks)
    transport = ", ".join(told.transports) or "not told by the MPI"
    return (
        f"{len(told.ranks)} ranks on {', '.join(told.hosts)}; may run on processors {bound}; "
        f"transport {transport}; {first.process_manager}; pinned memory {first.memlock}; "
        f"{first.mpi}"
    )


#: Below the checkout.
CHECK = Path("reframe", "live", "start.py")
#: A launcher of ReFrame and its options; empty: as the site says.
Start = tuple[str, ...]
#: Is told what is submitted before it is: on a busy cluster it may wait for hours.
Say = Callable[[str], None]
#: Files of a case, by their keys in ReFrame's report; their texts are put in place of the names.
_STREAMS = ("build_stdout", "build_stderr", "job_stdout", "job_stderr")
#: A line of MPICH's error stack, of which the last is the cause: `MPI_Init(70)...: it failed`.
_STACK = re.compile(r"^\w+\(\d+\)\.*: +(\S.*)$", re.MULTILINE)
_CHATTER = re.compile(r"UCX +(DIAG|INFO|DEBUG|TRACE)")


@dataclass(frozen=True)
class Place:
    """A toolchain, and the partition that it is tried on."""

    partition: str
    environ: str


@dataclass(frozen=True)
class Trial:
    """What came of one job; `why` is what went wrong if it did not start."""

    place: Place
    start: Start
    told: TrialOutput | None
    why: str = ""


def places(site: Site) -> list[Place]:
    """One for each MPI and transport of the site that is installed, on the first partition that has
    it: Boost changes nothing about how ranks start."""
    found: dict[tuple[str, ...], Place] = {}
    for name, partition in site.partitions.items():
        for environ in partition["environs"]:
            extras = site.toolchains.get(environ, {}).get("extras", {})
            kind = [str(extras.get(key, "")) for key in ("mpi", "mpi_version", "transport")]
            found.setdefault(tuple(kind), Place(name, environ))
    return list(found.values())


def survey(site: Site, place: Place, say: Say) -> dict[str, set[str]]:
    """Nodes of a partition with their network interfaces; UserError if no job runs there."""
    say(f"a job to {place.partition}: which network interfaces its nodes have")
    (case,) = _run_cases(site, place.partition, [place.environ], "Nodes", [()])
    found = node_interfaces(case["job_stdout"])
    if not found:
        raise UserError(f"no job runs on partition '{place.partition}': {_why(case)}")
    return found


def run_trials(site: Site, tried: Iterable[tuple[Place, Sequence[Start]]], say: Say) -> list[Trial]:
    """Try each place with each of its starts, one job after another; UserError if ReFrame fails."""
    groups: dict[tuple[str, tuple[Start, ...]], list[str]] = defaultdict(list)
    for place, starts in tried:
        groups[place.partition, tuple(starts)].append(place.environ)
    found = []
    for (partition, starts), environs in groups.items():
        how = " and ".join(" ".join(start) for start in starts if start)
        by = f", each by {how}" if how else ""
        say(f"jobs to {partition}, one after another: {', '.join(environs)}{by}")
        cases = _run_cases(site, partition, environs, "Start", starts)
        builds = {case["environ"]: case for case in cases if _is_build(case)}
        found += [
            _trial(case, builds.get(case["environ"]), partition, starts)
            for case in cases
            if not _is_build(case)
        ]
    return found


def _run_cases(
    site: Site, partition: str, environs: Sequence[str], check: str, starts: Sequence[Start]
) -> list[dict[str, Any]]:
    """The cases of one session of ReFrame as its report has them, with the texts of their files."""
    # Below the folder of runs: compute nodes see it, and no /tmp of the login node.
    runs = Path(site.environment["RFM_PREFIX"]).parent
    with tempfile.TemporaryDirectory(prefix="live-", dir=runs) as name:
        folder = Path(name)
        report = folder / "report.json"
        done = subprocess.run(
            [
                "reframe",
                f"--checkpath={site.checkout / CHECK}",
                "--run",
                f"--name=^{check}",
                "--exec-policy=serial",
                "--keep-stage-files",
                f"--prefix={folder}",
                f"--perflogdir={folder / 'perflogs'}",
                f"--report-file={report}",
                f"--system={site.name}:{partition}",
                f"--prgenv=^({'|'.join(environs)})$",
                *([NO_REQUEUE] if is_slurm(site.partitions[partition]["scheduler"]) else []),
            ],
            cwd=site.checkout,
            env={
                **site.environment,
                "ROUNDTRIP_STARTS": json.dumps(starts),
                "RFM_SQLITE_DB_FILE": str(folder / "results.db"),
            },
            capture_output=True,
            text=True,
        )
        if not report.is_file():
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            raise UserError(f"ReFrame tried nothing: {lines[-1] if lines else 'no output'}")
        found: list[dict[str, Any]] = files.read_json(report)["runs"][-1]["testcases"]
        return [{**case, **{key: _text(case, key) for key in _STREAMS}} for case in found]


def _is_build(case: dict[str, Any]) -> bool:
    return str(case["display_name"]).startswith("build_rank")


def _trial(
    case: dict[str, Any], build: dict[str, Any] | None, partition: str, starts: Sequence[Start]
) -> Trial:
    shown = {"-".join(start) or "site": start for start in starts}
    start = shown.get(str(case["display_name"]).rpartition("start=")[2], ())
    place = Place(partition, case["environ"])
    if build and build["result"] == "fail":
        return Trial(place, start, None, f"it does not compile: {_why(build)}")
    told = read_output(case["job_stdout"], case["job_stderr"])
    return Trial(place, start, told if told.ranks else None, "" if told.ranks else _why(case))


def _why(case: dict[str, Any]) -> str:
    """The line of the job that names an error, or what ReFrame says."""
    text = "\n".join(case[key] for key in _STREAMS)
    if stack := _STACK.findall(text):
        return str(stack[-1])
    lines = [line.strip() for line in text.splitlines() if not _CHATTER.search(line)]
    telling = [line for line in lines if re.search(r"rror\b|annot|nable to|not found|efused", line)]
    reason = (case.get("fail_reason") or "it wrote nothing").strip().splitlines()[0]
    return telling[0] if telling else reason


def _text(case: dict[str, Any], key: str) -> str:
    file = Path(case.get("stagedir") or "/nonexistent", case.get(key) or "nothing")
    return file.read_text(errors="replace") if file.is_file() else ""
