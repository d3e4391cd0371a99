"""Does a campaign over pairs of nodes name the sick ones, and no others?

It boots a virtual cluster and measures quiet nights, after none of which a node may be named.  Then
it makes three nodes sick (a cable that is 100 us longer, one that loses 0.5 % of its frames, a
processor that stands still for 3 of 4 ms) and measures nights, after the last of which these three
must be named and nobody else.  Real launches through real Slurm; a row a night is printed.
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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vclusterlib.errors import UserError
from vclusterlib.spec import Spec, parse_nodes

CHECKOUT = Path(__file__).resolve().parents[2]
VCLUSTER = CHECKOUT / "testbed" / "vcluster"
KEY = b"of nights on the virtual cluster alone"
CAMPAIGN = """\
title = "Which node is sick?"
launches = 1
nodes = "all"
allow_untold = true # the first night alone cannot tell
rounds_a_night = {rounds}
time_limit_minutes = {minutes}

[[check]]
name = "NetPIPE"
toolchains = ["{toolchain}"]
partitions = ["clusterA", "clusterB"]
parameters = {{ variants = ["raw"], mode = ["pingpong"] }}
variables = {{ budget = {budget}, perturbation = 0, end = 262144 }}
"""
_CAME = re.compile(r"(\d+) of (\d+) launches completed")


@dataclass(frozen=True)
class Bed:
    """A cluster that is up, and the folder that its nodes see."""

    name: str
    share: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        whole = [str(VCLUSTER), "--name", self.name, *command]
        return subprocess.run(whole, cwd=CHECKOUT, capture_output=True, text=True, check=False)

    def ok(self, *command: str) -> str:
        done = self.run(*command)
        if done.returncode:
            sys.exit(
                f"vcluster {shlex.join(command)}: {done.stderr.strip() or done.stdout.strip()}"
            )
        return done.stdout

    def roundtrip(self, series: str, *command: str) -> subprocess.CompletedProcess[str]:
        """A command of Roundtrip on the head node; nights of one `series` share their history."""
        variables = {
            "ROUNDTRIP_RUNS": self.share / series / "runs",
            "ROUNDTRIP_REPORTS": self.share / series / "reports",
            "ROUNDTRIP_SITE_KEY": self.share / "key",
        }
        exports = "".join(f"export {key}={shlex.quote(str(v))}; " for key, v in variables.items())
        script = f"{exports}. site-configs/activate virtual && roundtrip {shlex.join(command)}"
        return self.run("exec", "bash", "-c", script)


def pseudonym(node: str) -> str:
    """As Roundtrip makes it of the site's key."""
    return f"node-{hmac.digest(KEY, node.encode(), hashlib.sha256).hex()[:8]}"


@contextmanager
def booted(options: argparse.Namespace) -> Iterator[Bed]:
    share = Path(options.share).resolve()
    share.mkdir(parents=True, exist_ok=True)
    (share / "key").unlink(missing_ok=True)
    (share / "key").write_bytes(KEY)
    (share / "key").chmod(0o400)
    text = CAMPAIGN.format(**vars(options))
    (share / "pairs.toml").write_text(text)
    bed = Bed(options.name, share)
    up = ["up", "--nodes", options.nodes, "--share", str(share)]
    bed.ok(*up, *(["--cpu-weight", str(options.cpu_weight)] if options.cpu_weight else []))
    try:
        yield bed
    finally:
        bed.run("down")


def night(bed: Bed, series: str, names: dict[str, str]) -> tuple[str, set[str]]:
    """Measure one; what to print of it, and the nodes that are named after it."""
    begin = time.monotonic()
    done = bed.roundtrip(series, "run", str(bed.share / "pairs.toml"), "--site", "virtual")
    took = time.monotonic() - begin
    came = _CAME.search(done.stderr)
    if came is None:
        sys.exit(f"the night did not run: {done.stderr.strip()[-2000:]}")
    asked = bed.roundtrip(series, "nodes", "virtual", "pairs", "--json")
    if asked.returncode not in (0, 1):
        sys.exit(f"roundtrip nodes: {asked.stderr.strip()[-2000:]}")
    named = json.loads(asked.stdout)["named"]
    found = {names.get(one["name"], f"{one['kind']} {one['name']}") for one in named}
    return f"{came[1]:>4} of {came[2]:<4} {took:6.0f} s  load {os.getloadavg()[0]:4.1f}", found


def main(arguments: list[str]) -> int:
    """Exit status 0 if quiet nights named nobody and sick ones exactly the sick, 1 if not, and 2
    for bad input."""
    options = parsed(arguments)
    try:
        nodes = Spec(*parse_nodes(options.nodes)).nodes
    except UserError as error:
        print(f"night: {error}", file=sys.stderr)
        return error.status
    names = {pseudonym(node.name): node.name for node in nodes}
    sick = patients([node.name for node in nodes])
    good = True
    with booted(options) as bed:
        for series in ("quiet", "sick"):
            shutil.rmtree(bed.share / series, ignore_errors=True)
        for number in range(1, options.quiet + 1):
            told, found = night(bed, "quiet", names)
            print(row("quiet", number, told, found, set()), flush=True)
            good &= not found
        if options.sick:
            for node, fault in sick.items():
                bed.ok("fault", node, *fault)
                print(f"{node} gets {shlex.join(fault)}", flush=True)
        for number in range(1, options.sick + 1):
            told, found = night(bed, "sick", names)
            print(row("sick", number, told, found, set(sick)), flush=True)
            good &= number < options.sick or found == set(sick)
    print("as it should be" if good else "NOT as it should be")
    return 0 if good else 1


def patients(nodes: list[str]) -> dict[str, list[str]]:
    """Three nodes, none of them the first or the last, and what each is to suffer from."""
    quarter = len(nodes) // 4
    return {
        nodes[quarter]: ["--latency", "100us"],
        nodes[2 * quarter + 1]: ["--loss", "0.5%"],
        nodes[3 * quarter]: ["--cpu", "25%"],
    }


def row(series: str, number: int, told: str, found: set[str], wanted: set[str]) -> str:
    """A line of the table: who was named, who should have been, and who falsely was."""
    parts = [f"named: {', '.join(sorted(found)) or 'none'}"]
    if wanted - found:
        parts.append(f"not named: {', '.join(sorted(wanted - found))}")
    if found - wanted:
        parts.append(f"falsely: {', '.join(sorted(found - wanted))}")
    return f"{series:5} {number:3}  {told}  {'; '.join(parts)}"


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--name", default="night", help="which virtual cluster (night)")
    add("--share", default=str(CHECKOUT / "build" / "night"), help="folder of runs and reports")
    add("--nodes", default="16+16", help="nodes of each cluster, at least 4+4 (16+16)")
    add("--quiet", type=int, default=20, help="quiet nights (20)")
    add("--sick", type=int, default=2, help="nights with three sick nodes (2)")
    add("--rounds", type=int, default=4, help="rounds a night (4)")
    add("--budget", type=float, default=2.0, help="seconds a launch measures (2)")
    add("--minutes", type=float, default=60, help="time limit of a night (60)")
    add("--toolchain", default="openmpi41-tcp", help="environment of site virtual")
    add("--cpu-weight", type=int, default=0, help="precedence on a busy machine (none)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
