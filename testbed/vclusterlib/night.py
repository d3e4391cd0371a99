"""Does a campaign over pairs of nodes name the sick ones, and no others?

It boots a virtual cluster whose nodes all have the same emulated cable, and measures quiet nights,
after none of which a node may be named.  Then six nodes become patients: a cable that is 100 us
longer, one that loses 0.5 % of its frames, half a processor, processes that crash, a clock that is
1.3 times as fast, another MPI library (a copy elsewhere).  Each has a control, which carries
everything but the fault: the cable without delay and loss, a quota that takes nothing away, a
watcher that crashes nothing, the preloaded clock at its right rate, the search path of the same
library.  After the last night the patients must be named, and nobody else.  Real launches through
real Slurm; a row a night is printed, then a table of patients and controls.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vclusterlib import UserError
from vclusterlib.spec import Spec, parse_nodes

CHECKOUT = Path(__file__).resolve().parents[2]
VCLUSTER = CHECKOUT / "testbed" / "vcluster"
SITE_KEY = b"of nights on the virtual cluster alone"
CAMPAIGN_TEMPLATE = """\
title = "Which node is sick?"
launches = 1
nodes = "all"
allow_undecided = true # the first night alone cannot tell
rounds_a_night = {rounds}
time_limit_minutes = {minutes}

[[check]]
name = "NetPIPE"
toolchains = ["{toolchain}"]
partitions = ["clusterA", "clusterB"]
parameters = {{ variants = ["raw"], mode = ["pingpong"] }}
variables = {{ budget = {budget}, perturbation = 0, end = 262144 }}
"""
_COMPLETED_PATTERN = re.compile(r"(\d+) of (\d+) launches completed")
CRASHED_PROGRAM = "netpipe"
#: Options of ``vcluster fault`` for every node: our link program as its cable.
CABLE_OPTIONS = ("--cable",)


@dataclass(frozen=True)
class PlantedFault:
    """A fault: options of ``vcluster fault``, and the variables of the processes on the node.

    It may crash a share of the processes.  `control_options` and `control_variables` are those of a
    control night without the fault.  In a variable ``{share}`` is the shared folder, and
    ``{library}`` the folder of the MPI library.
    """

    name: str
    options: tuple[str, ...] = ()
    control_options: tuple[str, ...] = ()
    crashes: bool = False
    variables: str = ""
    control_variables: str = ""


FAULTS = (
    PlantedFault("slow link", ("--latency", "100us"), ("--latency", "0")),
    PlantedFault("flaky", crashes=True),
    PlantedFault(
        "wrong clock",
        variables="LD_PRELOAD={share}/fast_clock.so FAST_RANK=all",
        control_variables="LD_PRELOAD={share}/fast_clock.so",
    ),
    PlantedFault("lossy link", ("--loss", "0.5%"), ("--loss", "0")),
    PlantedFault("half a processor", ("--cpu", "50%"), ("--cpu", "6400%")),
    PlantedFault(
        "another MPI",
        variables="LD_LIBRARY_PATH={share}/other",
        control_variables="LD_LIBRARY_PATH={library}",
    ),
)
#: In place of srun: the processes on some nodes get variables.
_SRUN_TEMPLATE = """\
#!/bin/bash
while [[ $1 == -* ]]; do options+=("$1"); shift; done
exec /usr/bin/srun "${{options[@]}}" sh -c 'case $(hostname) in
{trials}
esac; exec "$@"' sh "$@"
"""


@dataclass(frozen=True)
class FaultTrial:
    """A fault, the name of the node that gets it (`faulty`), and that of its `control`."""

    fault: PlantedFault
    faulty: str
    control: str


@dataclass(frozen=True)
class Cluster:
    """A running cluster, and the folder that its nodes share."""

    name: str
    share: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        command_line = [str(VCLUSTER), "--name", self.name, *command]
        return subprocess.run(command_line, cwd=CHECKOUT, capture_output=True, text=True)

    def run_checked(self, *command: str) -> str:
        process = self.run(*command)
        if process.returncode:
            reason = process.stderr.strip() or process.stdout.strip()
            sys.exit(f"vcluster {shlex.join(command)}: {reason}")
        return process.stdout

    @contextmanager
    def crash_processes(self, node: str, share: float) -> Iterator[None]:
        """Crash a share of the program's processes on a node; a share of 0 only watches them."""
        watcher = [sys.executable, "-m", "vclusterlib.crashes", CRASHED_PROGRAM, str(share)]
        prefix = [str(VCLUSTER), "--name", self.name, "node", node, "env"]
        with subprocess.Popen([*prefix, f"PYTHONPATH={CHECKOUT / 'testbed'}", *watcher]) as process:
            try:
                yield
            finally:
                process.terminate()

    def roundtrip(self, series: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run Roundtrip on the head node; the nights of one `series` share their history."""
        variables = {
            "ROUNDTRIP_RUNS": self.share / series / "runs",
            "ROUNDTRIP_REPORTS": self.share / series / "reports",
            "ROUNDTRIP_SITE_KEY": self.share / "key",
        }
        exports = "".join(f"export {key}={shlex.quote(str(v))}; " for key, v in variables.items())
        path = f"PATH={shlex.quote(str(self.share / series / 'bin'))}:$PATH"
        command_line = f"{path} roundtrip {shlex.join(command)}"
        script = f"{exports}. site-configs/activate virtual && {command_line}"
        return self.run("exec", "bash", "-c", script)


def pseudonym(node: str) -> str:
    """The node's pseudonym, as Roundtrip derives it from the site's key."""
    return f"node-{hmac.digest(SITE_KEY, node.encode(), hashlib.sha256).hex()[:8]}"


@contextmanager
def booted_cluster(options: argparse.Namespace) -> Iterator[Cluster]:
    share = Path(options.share).resolve()
    share.mkdir(parents=True, exist_ok=True)
    (share / "key").unlink(missing_ok=True)
    (share / "key").write_bytes(SITE_KEY)
    (share / "key").chmod(0o400)
    text = CAMPAIGN_TEMPLATE.format(**vars(options))
    (share / "pairs.toml").write_text(text)
    cluster = Cluster(options.name, share)
    command = ["up", "--nodes", options.nodes, "--share", str(share)]
    cluster.run_checked(
        *command, *(["--cpu-weight", str(options.cpu_weight)] if options.cpu_weight else [])
    )
    try:
        yield cluster
    finally:
        cluster.run("down")


def measure_night(
    cluster: Cluster, series: str, names: dict[str, str]
) -> tuple[str, dict[str, str]]:
    """Measure a night; return its summary line, and the verdicts by named node."""
    begin = time.monotonic()
    campaign = str(cluster.share / "pairs.toml")
    run_process = cluster.roundtrip(series, "run", campaign, "--site", "virtual")
    duration = time.monotonic() - begin
    match = _COMPLETED_PATTERN.search(run_process.stderr)
    if match is None or run_process.returncode not in (0, 1):
        sys.exit(f"the night did not run: {run_process.stderr.strip()[-2000:]}")
    query = cluster.roundtrip(series, "nodes", "virtual", "pairs", "--json")
    if query.returncode not in (0, 1):
        sys.exit(f"roundtrip nodes: {query.stderr.strip()[-2000:]}")
    verdicts = node_verdicts(json.loads(query.stdout), names)
    load = f"load {os.getloadavg()[0]:4.1f}"
    return f"{match[1]:>4} of {match[2]:<4} {duration:6.0f} s  {load}", verdicts


def node_verdicts(record: dict[str, Any], names: dict[str, str]) -> dict[str, str]:
    """The verdicts of ``roundtrip nodes --json``, by named node."""
    verdicts: dict[str, list[str]] = {}
    for outlier in record["named"]:
        measures = [measure["measure"] for measure in outlier["measures"]]
        words = ["slow processor"] if outlier["slow_processor"] else list(dict.fromkeys(measures))
        node = names.get(outlier["name"], f"{outlier['kind']} {outlier['name']}")
        verdicts.setdefault(node, []).extend(words)
    for clock in record["clocks"]:
        nodes = [names.get(name, name) for name in (clock["node"], clock["other"]) if name]
        verdicts.setdefault(" or ".join(nodes), []).append(f"clock {clock['rate']:.2f} times")
    for suspect in record["flaky"]:
        node = " or ".join(names.get(name, name) for name in suspect["nodes"])
        text = f"flaky ({suspect['failed']} of {suspect['launches']} failed)"
        verdicts.setdefault(node, []).append(text)
    return {node: ", ".join(words) for node, words in verdicts.items()}


def main(arguments: list[str]) -> int:
    """Exit status 0 if quiet nights name no node and the last sick night exactly the faulty nodes,
    1 if not, and 2 for bad input."""
    options = parse_arguments(arguments)
    try:
        nodes = [node.name for node in Spec(*parse_nodes(options.nodes)).nodes]
        trials = choose_trials(nodes)
    except UserError as error:
        print(f"night: {error}", file=sys.stderr)
        return error.status
    names = {pseudonym(node): node for node in nodes}
    faulty_names = {trial.faulty for trial in trials}
    is_good, verdicts = True, {}
    with booted_cluster(options) as cluster, ExitStack() as watchers:
        for series in ("quiet", "sick"):
            shutil.rmtree(cluster.share / series, ignore_errors=True)
        for node in nodes:
            cluster.run_checked("fault", node, *CABLE_OPTIONS)
        for number in range(1, options.quiet + 1):
            summary, verdicts = measure_night(cluster, "quiet", names)
            print(render_night("quiet", number, summary, set(verdicts), set()), flush=True)
            is_good &= not verdicts
        if options.sick:
            for trial in trials:
                apply_fault(cluster, trial, options.crashes, watchers)
            write_srun(cluster.share, trials)
        for number in range(1, options.sick + 1):
            summary, verdicts = measure_night(cluster, "sick", names)
            print(render_night("sick", number, summary, set(verdicts), faulty_names), flush=True)
            is_good &= number < options.sick or set(verdicts) == faulty_names
    if options.sick:
        print("\n".join(render_table(trials, verdicts)))
    print("as it should be" if is_good else "NOT as it should be")
    return 0 if is_good else 1


def apply_fault(cluster: Cluster, trial: FaultTrial, crashes: float, watchers: ExitStack) -> None:
    """Apply the fault to the faulty node, and the same without the fault to the control."""
    for node, options, share in (
        (trial.faulty, trial.fault.options, crashes),
        (trial.control, trial.fault.control_options, 0.0),
    ):
        if options:
            cluster.run_checked("fault", node, *options)
        if trial.fault.crashes:
            watchers.enter_context(cluster.crash_processes(node, share))


def write_srun(share: Path, trials: list[FaultTrial]) -> None:
    """Write an srun that sets the variables of faults on their nodes, and the files they name."""
    library = next(Path("/usr/lib").glob("*/libmpi.so.40"))
    exports = [
        (node, variables.format(share=share, library=library.parent))
        for trial in trials
        for node, variables in (
            (trial.faulty, trial.fault.variables),
            (trial.control, trial.fault.control_variables),
        )
        if variables
    ]
    if not exports:
        return
    (share / "other").mkdir(exist_ok=True)
    shutil.copy(library, share / "other")
    source, target = CHECKOUT / "testbed" / "clock" / "fast_clock.cpp", share / "fast_clock.so"
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-o", target, source], check=True
    )
    launcher = share / "sick" / "bin" / "srun"
    launcher.parent.mkdir(parents=True)
    lines = [f"  {node}) export {variables} ;;" for node, variables in exports]
    launcher.write_text(_SRUN_TEMPLATE.format(trials="\n".join(lines)))
    launcher.chmod(0o755)


def choose_trials(nodes: list[str]) -> list[FaultTrial]:
    """Three trials in each cluster, on its second to seventh node; UserError for too few nodes."""
    clusters = [[node for node in nodes if node[0] == letter] for letter in "ab"]
    if min(map(len, clusters)) < MIN_NODES:
        raise UserError(
            f"--nodes: at least {MIN_NODES} in each cluster, of which 6 are in the table"
        )
    pairs = [members[index : index + 2] for members in clusters for index in (1, 3, 5)]
    return [FaultTrial(fault, *pair) for fault, pair in zip(FAULTS, pairs, strict=True)]


#: With fewer nodes in a cluster, three sick ones are a third or more.
MIN_NODES = 10


def render_table(trials: list[FaultTrial], verdicts: dict[str, str]) -> list[str]:
    """A table with a line for each fault: faulty node and verdict, control and verdict."""
    rows = [("fault", "node", "named as", "control", "named as")]
    for trial in trials:
        pairs = ((node, verdicts.get(node, "not named")) for node in (trial.faulty, trial.control))
        rows.append((trial.fault.name, *(word for pair in pairs for word in pair)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in rows
    ]


def render_night(
    series: str, number: int, summary: str, named_nodes: set[str], expected_nodes: set[str]
) -> str:
    """A line for a night: the nodes named, the nodes missed, and the nodes named falsely."""
    parts = [f"named: {', '.join(sorted(named_nodes)) or 'none'}"]
    if expected_nodes - named_nodes:
        parts.append(f"not named: {', '.join(sorted(expected_nodes - named_nodes))}")
    if named_nodes - expected_nodes:
        parts.append(f"falsely: {', '.join(sorted(named_nodes - expected_nodes))}")
    return f"{series:5} {number:3}  {summary}  {'; '.join(parts)}"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--name", default="night", help="which virtual cluster (night)")
    add("--share", default=str(CHECKOUT / "build" / "night"), help="folder of runs and reports")
    add("--nodes", default="16+16", help="nodes of each cluster, at least 10+10 (16+16)")
    add("--quiet", type=int, default=20, help="quiet nights (20)")
    add("--sick", type=int, default=6, help="nights with six faulty nodes (6)")
    share = "share of the flaky node's processes that crash (0.333)"
    add("--crashes", type=float, default=1 / 3, help=share)
    add("--rounds", type=int, default=4, help="rounds a night (4)")
    add("--budget", type=float, default=2.0, help="seconds a launch measures (2)")
    add("--minutes", type=float, default=60, help="time limit of a night (60)")
    add("--toolchain", default="openmpi41-tcp", help="environment of site virtual")
    add("--cpu-weight", type=int, default=0, help="precedence on a busy machine (none)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
