"""Checks program, MPI library and nodes of a launch: ranks against each other, the toolchain, the
nodes that the scheduler allocated, and earlier launches.

A mismatch is a text that begins with `MISMATCH_PREFIX` and names both sides; "" is none.
Unrecorded facts are not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError, printable
from roundtrip.measure.run_record import NODE_FACT_TITLES
from roundtrip.sites.schedulers.interface import Allocation, Scheduler
from roundtrip.sites.toolchains.spec import is_library_version

MISMATCH_PREFIX = "mismatch: "
#: The file in which the script of a job records its allocation.
ALLOCATION_FILE = "allocation.txt"
#: Facts of a rank, as phrases; they are equal for all ranks of a launch.
_RANK_FACT_PHRASES = {
    "library": "runs",
    "standard": "has an MPI of standard",
    "device": "has an MPI of device",
    "build": "has an MPI library of build",
    "file": "loaded",
    "program_sha256": "runs a program of sha256",
}
#: Facts of a node from its kernel, in words; they are constant within a run.
_NODE_FACT_TITLES = {
    **NODE_FACT_TITLES,
    "logical": "number of processors online",
    "huge_pages": "transparent huge pages",
}
#: Facts of a rank's MPI library, in words; they are constant within a run, too.
_LIBRARY_FACT_TITLES = {
    "library": "MPI library",
    "build": "build of the MPI library",
    "file": "file of the MPI library",
}
#: Transports that bypass the kernel's network interfaces.
_RDMA_TRANSPORTS = ("rc", "dc", "ud")
#: Fewer bytes are inconclusive: a scheduler and file systems send some, too.
_MIN_MOVED_BYTES = 4_000_000
#: The least share of measured bytes that a network sends; some samples measure local work.
_MIN_TRANSPORT_SHARE = 1 / 20
#: With RDMA, TCP sends less than the larger of this and this share of the measured bytes: a library
#: may connect its ranks by TCP first.
_RDMA_MAX_TCP_BYTES = 100_000
_RDMA_MAX_TCP_SHARE = 1 / 2
#: Length limits of a value in a message, characters: a sentence, a word (a path, a digest).
_MAX_SENTENCE_LENGTH, _MAX_WORD_LENGTH = 80, 200

JsonObject = Mapping[str, Any]


def read_allocation(scheduler: Scheduler, folder: Path, root: Path | None = None) -> Allocation:
    """Read the allocation that the job's script wrote into `folder`; UserError if invalid."""
    text = files.read_text_in_tree(folder / ALLOCATION_FILE, root)
    try:
        return scheduler.parse_allocation(text)
    except ValueError as error:
        raise UserError(str(error), folder / ALLOCATION_FILE) from None


def job_mismatch(allocation: Allocation, submitted_job: str | None) -> str:
    """Return the mismatch of a launch that did not run in the job `submitted_job`; "" if it did."""
    if not submitted_job or allocation.job == submitted_job:
        return ""
    outside = f"outside of any job of {allocation.scheduler}"
    location = f"in job {allocation.job}" if allocation.job else outside
    return MISMATCH_PREFIX + printable(f"ran {location}, but job {submitted_job} was submitted")


def mismatch_reason(
    case: JsonObject, run: JsonObject, allocation: Allocation | None, moved_bytes: int
) -> str:
    """Return the first mismatch of a launch with these case.json and run.json; "" without one.
    `moved_bytes` is the sum of the sizes of its samples: it moved at least these."""
    ranks: Sequence[JsonObject] = run.get("identity") or ()
    problem = (
        _rank_mismatch(ranks)
        or _clock_mismatch(run)
        or _toolchain_mismatch(case, ranks)
        or _library_mismatch(case, ranks)
        or _argument_mismatch(case, run, ranks)
        or (_allocation_mismatch(run, ranks, allocation) if allocation else "")
        or ("" if case["simulated"] else _tcp_mismatch(case, run, moved_bytes))
        or ("" if case["simulated"] else _shared_memory_mismatch(run, moved_bytes))
    )
    return MISMATCH_PREFIX + printable(problem) if problem else ""


def constant_facts(case: JsonObject, run: JsonObject) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield facts of a launch that must not change within a run: (subject, name) and value."""
    if case["simulated"]:
        return
    environ = f"environment {case['environ']}"
    ranks, program = run.get("identity") or (), case.get("program") or {}
    rank = ranks[0] if ranks else {}
    if digest := rank.get("program_sha256") or program.get("sha256"):
        file = describe_file(str(program.get("file", run["workload"])))
        yield (f"program {file}", "sha256"), digest
    if (tuning := case.get("tuning")) is not None:
        variables = "; ".join(f"{name}={value}" for name, value in tuning.items())
        yield (environ, "tuning by the user"), variables or "none"
    for name, words in _LIBRARY_FACT_TITLES.items():
        if rank.get(name):
            yield (environ, words), rank[name]
    for node in run.get("nodes") or ():
        for name, words in _NODE_FACT_TITLES.items():
            if node.get(name) is not None:
                yield (f"node {node['host']}", words), node[name]
        for name, state in (node.get("interfaces") or {}).items():
            yield (f"node {node['host']}", f"interface {name}"), state


def preload_reason(case: JsonObject, run: JsonObject) -> str:
    """Return which code the user's LD_PRELOAD adds that the site does not declare; "" if none."""
    for rank in run.get("identity") or () if case.get("links") else ():
        if rank.get("preload"):
            preload = _printable_value(rank["preload"])
            return f"preloaded: {_describe_rank(rank)} runs with {preload}, not of the site"
    return ""


def describe_file(file: str) -> str:
    """Return ``name (path)`` of a file: the path in brackets stays at the site."""
    return f"{Path(file).name} ({file})"


def fact_change_reason(subject: tuple[str, str], before: Any, since: str, now: Any) -> str:
    """Return the mismatch of a fact (subject, name) that changed since launch or time `since`."""
    owner, fact = subject
    return MISMATCH_PREFIX + printable(
        f"{owner}: {fact} was {_printable_value(before)} {since}, and is {_printable_value(now)}"
    )


def _rank_mismatch(ranks: Sequence[JsonObject]) -> str:
    for other in ranks[1:]:
        for name, words in _RANK_FACT_PHRASES.items():
            first, second = ranks[0].get(name), other.get(name)
            if first != second:
                one = f"{_describe_rank(ranks[0])} {_printable_value(first)}"
                return f"{_describe_rank(other)} {words} {_printable_value(second)}, {one}"
    return ""


def _clock_mismatch(run: JsonObject) -> str:
    nodes = [node for node in run.get("nodes") or () if node.get("clock_source")]
    for other in nodes[1:]:
        first, second = nodes[0]["clock_source"], other["clock_source"]
        if first != second:
            return (
                f"node {other['host']} has clock source {_printable_value(second)}, "
                f"node {nodes[0]['host']} {_printable_value(first)}"
            )
    return ""


def _toolchain_mismatch(case: JsonObject, ranks: Sequence[JsonObject]) -> str:
    mpi = case.get("mpi") or {}
    for rank in ranks if mpi else ():
        library = rank.get("library")
        version = mpi["version"].partition("-")[0]  # 2.3.7-1 is a release of MVAPICH2's archive
        if library and not is_library_version(library, mpi["says"], version):
            promise = f"toolchain {case['environ']} is {mpi['family']} {mpi['version']}"
            return f"{_describe_rank(rank)} runs {_printable_value(library)}, but {promise}"
    return ""


def _library_mismatch(case: JsonObject, ranks: Sequence[JsonObject]) -> str:
    links, libraries = case.get("links") or "", case.get("libraries") or {}
    for rank in ranks if links else ():
        if rank.get("file") and rank["file"] != links:
            return _library_mismatch_text(
                rank, rank["file"], links, "LD_LIBRARY_PATH or LD_PRELOAD"
            )
    for rank in ranks if links else ():
        for name, file in (rank.get("libraries") or {}).items():
            library = libraries.get(name, file)
            if Path(file).parent != Path(library).parent:  # versions may differ between nodes
                return _library_mismatch_text(rank, file, library, "LD_LIBRARY_PATH")
    return ""


def _library_mismatch_text(rank: JsonObject, file: str, library: str, cause: str) -> str:
    path, target = describe_file(_printable_value(file)), describe_file(_printable_value(library))
    clause = f"{_describe_rank(rank)} loaded {path}"
    return f"{clause}, but the program links {target}: {cause} brings another"


def _argument_mismatch(case: JsonObject, run: JsonObject, ranks: Sequence[JsonObject]) -> str:
    """Return how the arguments of our workload differ from those of the check; "" if equal."""
    arguments, command = case.get("arguments"), run.get("command")
    is_ours = any(rank.get("program_sha256") for rank in ranks)
    if not is_ours or case["simulated"] or arguments is None or not command:
        return ""
    program_arguments = command[1:]
    if program_arguments == arguments:
        return ""
    surplus = " ".join(word for word in program_arguments if word not in arguments)
    lack = " ".join(word for word in arguments if word not in program_arguments)
    how = (
        f"with {_printable_value(surplus)}"
        if surplus
        else "without some arguments, or in another order"
    )
    return (
        f"the program ran {how}; the check asked for {_printable_value(lack) if lack else 'less'}"
    )


def _allocation_mismatch(
    run: JsonObject, ranks: Sequence[JsonObject], allocation: Allocation
) -> str:
    """Return the mismatch of a rank on a host outside of the job; "" if all are inside.

    The name of a host may differ from the scheduler's name of the node.  Launchers pass variables
    on, so a name of the scheduler that several hosts report identifies none of them.
    """
    hosts = {rank["host"]: rank.get("slurm_node") for rank in ranks} or dict.fromkeys(run["hosts"])
    name_counts = Counter(name for name in hosts.values() if name)
    for host, name in hosts.items():
        if not allocation.nodes:
            return f"ran on {host}, outside of any job of {allocation.scheduler}"
        if short_host_name(host) in map(short_host_name, allocation.nodes):
            continue
        is_login = short_host_name(host) == allocation.submit_host
        if name in allocation.nodes and name_counts[name] == 1 and not is_login:
            continue
        stranger = f"which {allocation.scheduler} did not allocate"
        remark = "where the job was submitted" if is_login else stranger
        # By the word "node" before each, `Pseudonyms` finds the names.
        names = ", ".join(f"node {node}" for node in allocation.nodes[:8])
        more = f" and {len(allocation.nodes) - 8} more" if len(allocation.nodes) > 8 else ""
        return f"ran on {host}, {remark}; the job has {names}{more}"
    return ""


def _tcp_mismatch(case: JsonObject, run: JsonObject, moved_bytes: int) -> str:
    """Return the mismatch of a launch that sent by TCP what RDMA should have sent."""
    nodes = [node for node in run.get("nodes") or () if node.get("tcp_bytes")]
    extras = case.get("extras") or {}
    if not nodes or extras.get("transport") not in _RDMA_TRANSPORTS:
        return ""
    node = max(nodes, key=lambda node: int(node["tcp_bytes"]))
    if node["tcp_bytes"] < max(_RDMA_MAX_TCP_BYTES, _RDMA_MAX_TCP_SHARE * moved_bytes):
        return ""
    request = f"{extras['transport']} on {extras.get('device')}"
    return (
        f"the first rank on node {node['host']} sent {node['tcp_bytes']} bytes over TCP, "
        f"where {request} was asked for"
    )


def _shared_memory_mismatch(run: JsonObject, moved_bytes: int) -> str:
    """Return the mismatch of a launch, one rank per node, whose data stayed in shared memory.

    Between nodes that share a kernel and have no adapter, only an interface of the kernel or memory
    can carry data.  `moved_bytes` may be fewer than moved: a third-party program prints means.
    """
    nodes = run.get("nodes") or ()
    boots = {node.get("boot") for node in nodes}
    has_adapters = any(node.get("adapters") for node in nodes)
    is_shared_kernel = len(boots) == 1 and boots != {None} and not has_adapters
    counts = [count for node in nodes if (count := node.get("sent_bytes"))]
    is_known = len(counts) == len(nodes) == run["ranks"] > 1 and moved_bytes >= _MIN_MOVED_BYTES
    if not is_shared_kernel or not is_known:
        return ""
    sent, interface = max((sent, name) for count in counts for name, sent in count.items())
    if sent >= _MIN_TRANSPORT_SHARE * moved_bytes:
        return ""
    return (
        f"interface {interface} sent {sent} bytes of the {moved_bytes} that were measured, the "
        "most of all: shared memory, where the network was asked for"
    )


def _describe_rank(rank: JsonObject) -> str:
    return f"rank {rank['ranks'][0]} on {rank['host']}"


def _printable_value(value: Any) -> str:
    if value is None:
        return "unknown"
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return repr(text[:_MAX_SENTENCE_LENGTH]) if " " in text else text[:_MAX_WORD_LENGTH]


def short_host_name(host: str) -> str:
    """Return the name of a host without its domain, in lower case."""
    return host.split(".")[0].casefold()
