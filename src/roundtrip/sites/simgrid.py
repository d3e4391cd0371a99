"""Platforms for SimGrid's ``smpirun``, and traces of launches that SimGrid replays.

A platform ``site-configs/<site>/platforms/<name>.xml`` is a file of SimGrid with ``<cluster>``
elements and the placeholders `${host_flops}`, the speed of a host, and, if round trips can be made
longer, `${added_us}`, half of the added time.

A trace is cut to the timed section: the work and messages of each rank.  SimGrid writes an index,
whose lines name a file for each rank, and in these a line for each action:
``<rank> <action> <numbers>``.  No line depends on the speed of hosts or of the network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from xml.etree import ElementTree

from roundtrip import files, paths
from roundtrip.errors import UserError
from roundtrip.sites.machine import parse_number_list

#: Files in the folder of a launch.
PLATFORM_FILE, HOSTS_FILE = "platform.xml", "hosts.txt"
#: Environment variables that describe the platform to a workload.
NAME_VARIABLE, FLOPS_VARIABLE, SHA256_VARIABLE = (
    f"ROUNDTRIP_SIMULATED_{suffix}" for suffix in ("PLATFORM", "HOST_FLOPS", "PLATFORM_SHA256")
)


@dataclass(frozen=True)
class SimulatedPlatform:
    """A platform of SimGrid: host speed [flop/s], XML `text`, `hosts` in the order of ranks."""

    name: str
    host_flops: float
    text: str
    hosts: tuple[str, ...]

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that describe the platform to a workload."""
        return {
            NAME_VARIABLE: self.name,
            FLOPS_VARIABLE: f"{self.host_flops:.17g}",
            SHA256_VARIABLE: self.sha256,
        }

    @property
    def sha256(self) -> str:
        return files.sha256(self.text.encode())

    @property
    def facts(self) -> dict[str, str | float]:
        """What `simulated` in run.json says of the platform."""
        platform_facts = {"platform": self.name, "platform_sha256": self.sha256}
        return {**platform_facts, "host_flops": self.host_flops}

    def write(self, folder: Path, ranks: int) -> None:
        """Write the platform's file and a list with a host for each rank into `folder`; UserError
        for more ranks than hosts."""
        if ranks > len(self.hosts):
            raise UserError(f"platform '{self.name}' has {len(self.hosts)} hosts, not {ranks}")
        (folder / PLATFORM_FILE).write_text(self.text)
        (folder / HOSTS_FILE).write_text("".join(f"{host}\n" for host in self.hosts[:ranks]))


def read_platform(
    file: Path, host_flops: float, added_rtt_ms: float | None = None
) -> SimulatedPlatform:
    """Read the platform in `file`, with hosts of `host_flops` and `added_rtt_ms` on round trips;
    UserError if it is none, or has not exactly the placeholders of these values."""
    if not host_flops > 0:
        raise UserError(f"a host of {host_flops:g} flop/s computes nothing")
    values = {"host_flops": f"{host_flops:.17g}"}
    if added_rtt_ms is not None:
        if added_rtt_ms < 0:
            raise UserError(f"a round trip cannot be longer by {added_rtt_ms:g} ms")
        values["added_us"] = f"{added_rtt_ms * 500:.17g}"
    template = Template(files.read_text(file))
    placeholders = set(template.get_identifiers())
    if placeholders != values.keys():
        names_text = ", ".join(f"${{{name}}}" for name in sorted(placeholders)) or "nothing"
        names = ", ".join(f"${{{name}}}" for name in values)
        raise UserError(f"the platform asks for {names_text}, and it is given {names}", file)
    text = template.substitute(values)
    try:
        document = ElementTree.fromstring(text)  # noqa: S314  a file of the site, no foreign data
        clusters = document.findall(".//cluster")
        hosts = tuple(name for cluster in clusters for name in _host_names(cluster.attrib))
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise UserError(f"it is no platform of clusters: {error}", file) from None
    if not hosts:
        raise UserError("it is no platform of clusters: it has no <cluster>", file)
    return SimulatedPlatform(file.stem, host_flops, text, hosts)


def _host_names(cluster: dict[str, str]) -> list[str]:
    """Names of the hosts of a `cluster`: ``radical`` is a list of numbers and of ranges."""
    prefix = cluster["prefix"]
    suffix = cluster["suffix"]
    numbers = parse_number_list(cluster["radical"])
    return [f"{prefix}{number}{suffix}" for number in numbers]


_FAILURE_PATTERN = re.compile(
    r"^.*(?:deadlock|CRITICAL|MPI_Abort).*$", re.MULTILINE | re.IGNORECASE
)


def find_failure_line(stderr_text: str) -> str:
    """Return the line of `stderr_text` that reports a failed simulation; "" without one."""
    match = _FAILURE_PATTERN.search(stderr_text)
    return match[0].strip() if match else ""


#: The root category at "critical" hides the warning of MPI_Abort, which `find_failure_line` needs.
SMPIRUN_LOG_OPTIONS = ("--log=root.thres:critical", "--log=smpi_pmpi.thres:warning")


def find_smpirun() -> Path:
    """``smpirun`` of the toolchain, else of PATH.  UserError if there is none."""
    toolchain_program = paths.toolchains() / "smpi" / "bin" / "smpirun"
    program = toolchain_program if toolchain_program.is_file() else shutil.which("smpirun")
    if program is None:
        raise UserError("SimGrid is not installed: roundtrip toolchains smpi-boost181")
    return Path(program)


def run_smpirun(
    arguments: Sequence[str], ranks: int, platform: SimulatedPlatform, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run ``smpirun`` with `arguments` in `folder`; UserError if status or output is a failure."""
    for argument in arguments:
        if argument.split() != [argument]:
            raise UserError(f"smpirun takes no blanks: '{argument}'")
    platform.write(folder, ranks)
    options = ["-np", str(ranks), "-platform", PLATFORM_FILE, "-hostfile", HOSTS_FILE]
    process = subprocess.run(
        [find_smpirun(), *options, *SMPIRUN_LOG_OPTIONS, *arguments],
        cwd=folder,
        env={**os.environ, **platform.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    failure = find_failure_line(process.stderr)
    if failure or process.returncode:
        reason = failure or (process.stderr.strip().splitlines() or ["it said nothing"])[0]
        raise UserError(f"smpirun ended with status {process.returncode}: {reason}")
    return process


#: Actions that SimGrid 3.32 can replay: without a buffer; collectives with the number of elements
#: of a whole buffer; collectives with the number of elements for each rank.
_ACTIONS_WITHOUT_BUFFER = (
    *("compute", "sleep", "send", "isend", "recv", "irecv", "sendRecv", "wait", "waitall"),
    *("test", "barrier"),
)
_WHOLE_BUFFER_ACTIONS = (
    *("bcast", "reduce", "allreduce", "reducescatter"),
    *("alltoallv", "allgatherv", "gatherv", "scatterv"),
)
_PER_RANK_COUNT_ACTIONS = ("alltoall", "allgather", "gather", "scatter")
#: The action of zero work, by which a program marks begin and end of its timed section.
_SECTION_LIMIT_ACTION = ["compute", "0"]
#: Lines at the begin of a file: init; a collective that moves no data but has buffers as large as
#: any later one, because SimGrid 3.32 frees buffers that it enlarges while other ranks use them;
#: and a barrier, as before the timed section.
_HEAD_LINE_COUNT = 3
_NUMBER_PATTERN = re.compile(r"-?\d{1,20}(\.\d{1,20})?(e[+-]\d{1,3})?", re.ASCII)
_MAX_RANKS = 65_536
_MAX_LINE_LENGTH = 1_000_000  # an alltoallv names as many counts as there are ranks, twice
_MAX_BUFFER_BYTES = 2**31 - 1  # SimGrid counts in int
_BYTE_TYPE_NUMBER = 6  # SimGrid's number for the type of a byte
_MAX_ELEMENT_BYTES = 16  # bytes of the largest type that it numbers


@dataclass(frozen=True)
class Trace:
    """The recorded timed section of a launch: a folder, which may be moved, with a file a rank."""

    folder: Path

    @property
    def files(self) -> list[Path]:
        """The files of the trace, one for each rank, in order; UserError if one is missing."""
        file_names = {file.name for file in self.folder.glob("rank-*.txt")}
        names = [f"rank-{rank}.txt" for rank in range(len(file_names))]
        if not file_names or file_names != set(names):
            raise UserError(
                "it is no trace: it lacks files of ranks, rank-0.txt and on", self.folder
            )
        return [self.folder / name for name in names]

    @property
    def ranks(self) -> int:
        return len(self.files)

    def write_head(self, rank: int, folder: Path) -> Path:
        """Write the rank's actions before the timed section to a file in `folder`; return it."""
        with self.files[rank].open() as lines:
            head = [next(lines, "") for _ in range(_HEAD_LINE_COUNT)]
        file = folder / f"rank-{rank}.txt"
        file.write_text("".join([*head, f"{rank} finalize\n"]))
        return file

    def declared_operations(self) -> float:
        """Return the sum of the operations that all ranks declared; UserError for a bad line."""
        return sum(
            float(words[2])
            for file in self.files
            for _, words in _numbered_actions(file)
            if words[1] == "compute"
        )


def write_timed_section(index: Path, folder: Path) -> Trace:
    """Write the timed section of the trace that `index` names into the new `folder`.

    UserError, with file and line, if it is no trace, is truncated, has no timed section, or holds
    an action that cannot be replayed.  Only files next to or below the index are read.
    """
    files = _files_of_index(index)
    buffer = max(_max_buffer_bytes(file, rank, len(files)) for rank, file in enumerate(files))
    counts = f"{buffer}{' 0' * len(files)}"
    folder.mkdir(parents=True)
    for rank, file in enumerate(files):
        with (folder / f"rank-{rank}.txt").open("w") as out:
            collective = f"alltoallv {counts} {counts} {_BYTE_TYPE_NUMBER} {_BYTE_TYPE_NUMBER}"
            head = ["init", collective, "barrier"]
            out.writelines(f"{rank} {line}\n" for line in head)
            out.writelines(f"{' '.join(words)}\n" for words in _timed_section_actions(file, rank))
            out.write(f"{rank} finalize\n")
    return Trace(folder)


def _max_buffer_bytes(file: Path, rank: int, ranks: int) -> int:
    """Return an upper bound of the largest buffer of a collective in the timed section, bytes."""
    largest = 1
    for words in _timed_section_actions(file, rank):
        if words[1] in (*_WHOLE_BUFFER_ACTIONS, *_PER_RANK_COUNT_ACTIONS):
            # In collectives with counts for each rank, the received count follows these.
            second = 3 + ranks if words[1].endswith("v") else 3
            numbers = words[2:3] + words[second : second + 1]
            elements = max((int(float(number)) for number in numbers), default=0)
            factor = ranks if words[1] in _PER_RANK_COUNT_ACTIONS else 1
            largest = max(largest, elements * factor * _MAX_ELEMENT_BYTES)
    if largest > _MAX_BUFFER_BYTES:
        raise UserError(f"a collective of {largest} bytes: no rank has so much memory", file)
    return largest


def _files_of_index(index: Path) -> list[Path]:
    """The files that an index names, in the order of ranks."""
    home = index.parent.resolve()
    trace_files = []
    for number, line in enumerate(files.read_text(index).splitlines(), 1):
        file = (home / line.strip()).resolve()
        if not file.is_relative_to(home) or not file.is_file():
            raise UserError(f"{line[:80]!r} is no file beside the index", index, number)
        trace_files.append(file)
    if not 0 < len(trace_files) <= _MAX_RANKS:
        raise UserError(f"it names {len(trace_files)} files, not one a rank", index)
    return trace_files


def _timed_section_actions(file: Path, rank: int) -> Iterator[list[str]]:
    """Yield the actions of a rank's `file` between its two `_SECTION_LIMIT_ACTION`."""
    marks = 0
    for number, words in _numbered_actions(file):
        if words[0] != str(rank):
            raise UserError(f"an action of rank {words[0]} among those of {rank}", file, number)
        if words[1:] == _SECTION_LIMIT_ACTION:
            marks += 1
        elif marks == 1:
            if words[1] not in (
                *_ACTIONS_WITHOUT_BUFFER,
                *_WHOLE_BUFFER_ACTIONS,
                *_PER_RANK_COUNT_ACTIONS,
            ):
                message = f"'{words[1]}' in the timed section, which cannot be replayed"
                raise UserError(message, file, number)
            yield words
    if marks != 2:
        why = "marks of a timed section instead of 2: cut off, or of another program"
        raise UserError(f"{marks} {why}", file)


def _numbered_actions(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the words of each line of a rank's file: rank, action, numbers."""
    with file.open(encoding="ascii", errors="replace") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE_LENGTH), ""), 1):
            words = line.split()
            numbers = words[:1] + words[2:]
            if not line.endswith("\n"):
                raise UserError("the line has no end: the trace was cut off", file, number)
            if (
                len(words) < 2
                or not words[1].isalnum()
                or not all(map(_NUMBER_PATTERN.fullmatch, numbers))
            ):
                raise UserError(f"{line[:80]!r} is no action of a rank", file, number)
            yield number, words


#: Options of smpirun by which a launch takes the time of its declared work and messages only, as in
#: a replay: real computation and reading the clock take no simulated time.
DECLARED_WORK_OPTIONS = ("--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0")
#: The record of a launch, next to its trace.
RUN_RECORD_FILE = "run.json"
_SAMPLES_FILE, _INDEX_FILE, _LIST_FILE = "samples.csv", "trace.txt", "ranks.txt"
_END_MARK_PATTERN = re.compile(r"^ROUNDTRIP COMPLETE ranks=(\d+) hosts=\d+$", re.MULTILINE)
#: Times at which a rank has passed the barrier, and at which the last rank has ended; seconds.
_BARRIER_PATTERN = re.compile(r"^(\d+\.\d+)_\d+ barrier ", re.MULTILINE)
_SIMULATED_TIME_PATTERN = re.compile(r"Simulated time: (\S+) seconds")


def record_trace(
    program: Sequence[str | Path], ranks: int, platform: SimulatedPlatform, folder: Path
) -> Trace:
    """Simulate `program`, a workload with its flags, and keep its timed section in the new
    `folder`: a file a rank, and run.json and samples.csv.  UserError, without a folder, if the
    launch failed."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch_folder = Path(scratch)
        options = [*DECLARED_WORK_OPTIONS, "-trace-ti", "-trace-file", _INDEX_FILE]
        command = [str(Path(program[0]).resolve()), *map(str, program[1:])]
        process = run_smpirun(
            [*options, *command, "--samples", _SAMPLES_FILE], ranks, platform, scratch_folder
        )
        end_marker = _END_MARK_PATTERN.search(process.stdout)
        if not end_marker or int(end_marker[1]) != ranks:
            raise UserError(f"{command[0]} did not end with its end marker on {ranks} ranks")
        try:
            trace = write_timed_section(scratch_folder / _INDEX_FILE, folder)
            for name in (RUN_RECORD_FILE, _SAMPLES_FILE):
                shutil.copyfile(scratch_folder / name, folder / name)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return trace


def replay_trace(trace: Trace, platform: SimulatedPlatform) -> float:
    """Return the time of the timed section on `platform`, s; UserError if it cannot be replayed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "heads").mkdir()
        heads = [trace.write_head(rank, folder / "heads") for rank in range(trace.ranks)]
        arguments = ["--log=smpi_replay.thres:verbose", "--log=smpi_replay.fmt:%r_%m%n"]
        barrier_times = _BARRIER_PATTERN.findall(_run_replay(heads, arguments, platform, folder))
        arguments = ["--log=smpi_utils.thres:info", "--cfg=smpi/display-timing:yes"]
        end_match = _SIMULATED_TIME_PATTERN.search(
            _run_replay(trace.files, arguments, platform, folder)
        )
    if not end_match or len(barrier_times) != trace.ranks:
        raise UserError("smpirun replayed the trace and printed no time", trace.folder)
    return float(end_match[1]) - min(map(float, barrier_times))


def _run_replay(
    files: Sequence[Path], arguments: Sequence[str], platform: SimulatedPlatform, folder: Path
) -> str:
    """Let smpirun replay `files`, one a rank, in `folder`; return its standard error."""
    (folder / _LIST_FILE).write_text("".join(f"{file.resolve()}\n" for file in files))
    return run_smpirun([*arguments, "-replay", _LIST_FILE], len(files), platform, folder).stderr
