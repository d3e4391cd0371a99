"""The steps of ``make card``, in order: environment, installation, cluster, checks, night.

A card is one run of all of them on the virtual cluster; it prints how long each step took.
Finally, on request, a test of the build cache as on another machine: in a second, empty prefix, the
first one hidden.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WORKLOADS = "roundtrip-workloads"
#: Longer than the first prefix, so that every path in a program must change.
SECOND_PREFIX = "another-machine/with/a-longer/path/to/what-it-was/given"
#: In a mount namespace: hides the folder $1, redirects writes to the checkout $2, such as the view
#: of its environment, to $3, and runs the remaining arguments.
HIDING_SCRIPT = (
    'mount -t tmpfs hidden "$1" && '
    'mount -t overlay checkout -o "lowerdir=$2,upperdir=$3/written,workdir=$3/work" "$2" && '
    'cd "$2" && shift 3 && exec "$@"'
)
#: One check of each of our programs.
CHEAPEST_CHECKS = (
    "NetPIPE%(?=.*five)(?=.*pingpong)(?=.*one-per-node)",
    "RingNetwork%(?=.*mpi)(?=.*one-per-node)",
    "DDTBench%(?=.*MILC)(?=.*largest)(?=.*one-per-node)",
)
#: Checks of all our programs, and of those of others.
ALL_CHECKS = (
    *CHEAPEST_CHECKS,
    "Ring%(?=.*shared-memory)(?=.*transport=mpi)",
    "Ring%(?=.*shared-memory)(?=.*transport=all)",  # and by PVM
    "DDTBench%(?=.*(WRF_x_vec|LAMMPS_full))(?=.*largest)(?=.*one-per-node)",
    "NetPIPEReference%(?=.*one-per-node)",
    "OSU%(?=.*one-per-node)",
    "OSUGroup%(?=.*one-per-node)(?=.*ranks=2)(?=.*(allreduce|alltoall|bcast|barrier))",
    "NPB%(?=.*one-per-node)(?=.*problem_class=S)(?=.*upstream)(?=.*ranks=2)",
)
REFRAME_SCRIPT = (
    "set -o pipefail && mkdir -p runs && "
    "reframe -c checks -R --system={site}:clusterA -n '{names}' {only}"
    "-S budget=1 -S end=65536 -S limit=120 --max-retries=2 -r | tee runs/card.txt"
)
#: A line of a passed case, coloured or not: `[       OK ] ( 4/18) NetPIPE %mode=pingpong ...`.
PASSED_CASE_PATTERN = re.compile(r" OK\S* ?\] \( *\d+/\d+\) ")
#: One night as a batch job; the end of its output is shown.
NIGHT_SCRIPT = (
    "mkdir -p runs && export ROUNDTRIP_NIGHTLY_BEGIN=never && "
    "sbatch --wait --output=runs/card-%j.out campaigns/nightly.sbatch {}; "
    "status=$?; tail -n 25 $(ls -t runs/card-*.out | head -n 1); exit $status"
)


class StepError(Exception):
    """A failed step; the message names the command."""


@dataclass
class Step:
    """A step of the card: its wall time, processor time, and the size of what it made."""

    name: str
    wall_s: float = 0.0
    cpu_s: float = 0.0
    size_bytes: int | None = None
    has_succeeded: bool = False


@dataclass
class Steps:
    """The steps that have begun, in their order."""

    timed_steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Run the block as the step `name`, and time it."""
        print(f"\ncard: {name}", flush=True)
        step = Step(name)
        self.timed_steps.append(step)
        wall_s, cpu_s = time.monotonic(), _children_cpu_s()
        try:
            yield step
            step.has_succeeded = True
        finally:
            step.wall_s, step.cpu_s = time.monotonic() - wall_s, _children_cpu_s() - cpu_s


def run(command: Sequence[str | Path], folder: Path, variables: Mapping[str, str] = {}) -> None:
    """Run a command with its output shown; StepError if it fails."""
    sys.stdout.flush()
    if subprocess.run(command, cwd=folder, env={**os.environ, **variables}).returncode:
        raise StepError(f"failed: {' '.join(map(str, command))}")


def find_output(
    command: Sequence[str | Path], folder: Path, variables: Mapping[str, str] = {}
) -> str | None:
    """The standard output of a command; None if it fails."""
    environ = {**os.environ, **variables}
    process = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    return None if process.returncode else process.stdout.strip()


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; 0 if there is none."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(file.stat().st_size for file in files)


def render_step_table(steps: Sequence[Step]) -> str:
    """A table with a line for each step: wall minutes, processor minutes, MB."""
    lines = [f"\n{'step':<44} {'minutes':>8} {'of CPU':>8} {'MB':>7}"]
    for step in steps:
        mb = "" if step.size_bytes is None else f"{step.size_bytes / 1e6:.0f}"
        mark = "" if step.has_succeeded else "  FAILED"
        lines.append(
            f"{step.name:<44} {step.wall_s / 60:>8.1f} {step.cpu_s / 60:>8.1f} {mb:>7}{mark}"
        )
    return "\n".join(lines)


def _children_cpu_s() -> float:
    """Processor time of all child processes that have ended, s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class Card:
    """One run of the whole Spack workflow: its options, and the commands that it runs."""

    checkout: Path
    spack: Path
    options: argparse.Namespace

    @property
    def environment(self) -> dict[str, str]:
        """The variables that `site-configs/activate` and `spack env activate` set."""
        part = self.checkout / "site-configs" / self.options.site / "spack"
        return {
            "ROUNDTRIP_SITE_SPACK": os.environ.get("ROUNDTRIP_SITE_SPACK", str(part)),
            "ROUNDTRIP_SITE": self.options.site,
            "SPACK_ENV": str(self.checkout),
        }

    @property
    def roundtrip(self) -> Path:
        return self.checkout / ".venv" / "bin" / "roundtrip"

    def spack_command(self, *arguments: str | Path) -> list[str | Path]:
        """The command of Spack with these arguments, in the environment of the checkout.

        It writes settings by which Spack takes the build caches for mirrors.
        """
        return [self.spack, "-C", self._write_spack_settings(), "-e", self.checkout, *arguments]

    def _write_spack_settings(self) -> Path:
        """Write Spack's configuration for this card only; return its folder."""
        options = self.options
        folder = Path(options.cache / ("settings-second" if options.prefix else "settings"))
        folder.mkdir(parents=True, exist_ok=True)
        caches = {"card": self.packages_cache(), "card-workloads": self.workloads_cache()}
        mirrors = {
            name: {"url": cache.as_uri(), "binary": True, "source": False, "signed": False}
            for name, cache in caches.items()
            if cache and cache.is_dir()
        }
        tree = {"install_tree": {"root": str(options.prefix)}} if options.prefix else {}
        # JSON is YAML.
        (folder / "mirrors.yaml").write_text(json.dumps({"mirrors": mirrors}))
        (folder / "config.yaml").write_text(json.dumps({"config": tree}))
        return folder

    def second_card_options(self) -> list[str]:
        """The options of a card that does the same on a second cluster."""
        options = self.options
        words = ["--cache", options.cache, "--site", options.site, "--name", f"{options.name}2"]
        words += ["--nodes", options.nodes, *(["--slice", options.slice] if options.slice else [])]
        words += ["--cpu-weight", options.cpu_weight] if options.cpu_weight else []
        return [str(word) for word in words]

    def packages_cache(self) -> Path:
        """The build cache of everything except the workloads."""
        return Path(self.options.cache / "packages")

    def workloads_cache(self) -> Path | None:
        """The build cache of the workloads of these sources; None if git has no commit of them.
        Spack identifies workloads by the path of their sources, so it would restore older ones."""
        dirty = find_output(["git", "status", "--porcelain", "workloads"], self.checkout)
        tree = find_output(["git", "rev-parse", "HEAD:workloads"], self.checkout)
        return None if dirty or not tree else self.options.cache / f"workloads-{tree[:12]}"

    def specs(self) -> list[str]:
        """The specs to install: those of one toolchain, or an empty list for all."""
        if not self.options.slice:
            return []
        mpi, _, boost = self.options.slice.partition(",")
        return [f"{WORKLOADS} ^{mpi} ^boost@={boost}"]

    def vcluster_command(self, *arguments: str | Path) -> list[str | Path]:
        """The command ``vcluster`` with these arguments, for the cluster of this card."""
        return [self.checkout / "testbed" / "vcluster", "--name", self.options.name, *arguments]

    def head_node_command(self, script: str) -> list[str | Path]:
        """The command that runs a shell script on the head node with the site activated."""
        activation = (
            f". site-configs/activate {self.options.site} && export SPACK_ENV={self.checkout}"
        )
        return self.vcluster_command("exec", "bash", "-c", f"{activation} && {script}")


def run_card(card: Card, steps: Steps) -> None:
    """Run all steps; StepError at the first one that fails.  The cluster is down afterwards."""
    tree, flags = card.checkout, ["--cache-only"] if card.options.prefix else []
    with steps.step("concretize, unless the lock file is current"):
        if find_output([card.roundtrip, "site", "lock"], tree, card.environment) is None:
            run(card.spack_command("-v", "concretize", "--force"), tree, card.environment)
        run([card.roundtrip, "site", "lock"], tree, card.environment)
    toolchain = toolchain_name(card)
    with steps.step("install: what the build cache lacks is built") as step:
        run(card.spack_command("install", *flags, *card.specs()), tree, card.environment)
        prefix = install_root(card)
        step.size_bytes = folder_bytes(Path(prefix))
    if not card.options.prefix:
        with steps.step("push to the build cache") as step:
            push_to_caches(card)
            step.size_bytes = folder_bytes(card.options.cache)
    launch_on_cluster(card, steps, prefix, toolchain)
    if card.options.second:
        restore_in_second_prefix(card, steps, prefix)


def toolchain_name(card: Card) -> str | None:
    """The name of the requested toolchain; None for all.  StepError if it does not exist."""
    if not card.options.slice:
        return None
    mpi, _, boost = card.options.slice.partition(",")
    words = [card.roundtrip, "site", "lock"]
    output = find_output(words, card.checkout, {**card.environment, "COLUMNS": "200"}) or ""
    rows = [line.split() for line in output.splitlines() if "boost@" in line]
    matches = [row[0] for row in rows if f"boost@{boost}" in row and mpi in row]
    if len(matches) != 1:
        names = ", ".join(row[0] for row in rows)
        raise StepError(f"no toolchain is {card.options.slice} (as openmpi@4.1.4,1.81.0): {names}")
    return matches[0]


def launch_on_cluster(card: Card, steps: Steps, prefix: str, toolchain: str | None) -> None:
    """Boot the cluster with `prefix` shared, and launch the checks by hand, then a night.

    Launch `toolchain` only, if one is given; with --prefix, launch no night.
    """
    try:
        with steps.step("boot the virtual cluster"):
            shares = [word for folder in (prefix, card.checkout) for word in ("--share", folder)]
            weight = ["--cpu-weight", card.options.cpu_weight] if card.options.cpu_weight else []
            options = ["--nodes", card.options.nodes, "--accounting", *shares, *weight]
            run(card.vcluster_command("up", *options), card.checkout)
        with steps.step("reframe -c checks -r, by srun"):
            is_small = toolchain or card.options.prefix
            checks = CHEAPEST_CHECKS if is_small else ALL_CHECKS
            names = f"^({'|'.join(checks)})"
            only = f"-p '^{toolchain}$' " if toolchain else ""
            script = REFRAME_SCRIPT.format(site=card.options.site, names=names, only=only)
            run(card.head_node_command(script), card.checkout)
            if lost_checks := checks_not_run(card.checkout, checks):
                raise StepError(f"no case passed of {', '.join(lost_checks)}")
        if not card.options.prefix:
            with steps.step("sbatch campaigns/nightly.sbatch, to a report"):
                campaign = campaign_argument(card.checkout, card.options.campaign, toolchain)
                script = NIGHT_SCRIPT.format(shlex.quote(campaign))
                run(card.head_node_command(script), card.checkout)
    finally:
        subprocess.run(card.vcluster_command("down"), cwd=card.checkout)


def checks_not_run(checkout: Path, checks: Sequence[str]) -> list[str]:
    """The `checks` of which no case passed.

    ReFrame calls a run passed that had no case of them.
    """
    lines = (checkout / "runs" / "card.txt").read_text(errors="replace").splitlines()
    passed_lines = filter(PASSED_CASE_PATTERN.search, lines)
    case_names = [line.split(") ", 1)[1].replace(" %", "%") for line in passed_lines]
    return [check for check in checks if not any(re.match(check, name) for name in case_names)]


def campaign_argument(checkout: Path, name: str, toolchain: str | None) -> str:
    """Campaign `name` of the checkout, or a copy of it that names only `toolchain`, if given."""
    if toolchain is None:
        return name
    text = (checkout / "campaigns" / f"{name}.toml").read_text()
    copy = checkout / "runs" / f"{name}-{toolchain}.toml"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(text.replace("[[check]]\n", f'[[check]]\ntoolchains = ["{toolchain}"]\n'))
    return str(copy)


def push_to_caches(card: Card) -> None:
    """Push the installed packages to the build caches, except those that are there already."""
    arguments = ["find", "--no-groups", "--format", "{name} {hash}"]
    output = find_output(card.spack_command(*arguments), card.checkout, card.environment) or ""
    pairs = [line.split() for line in output.splitlines() if len(line.split()) == 2]
    our_hashes = [f"/{hash_}" for name, hash_ in pairs if name == WORKLOADS]
    other_hashes = [f"/{hash_}" for name, hash_ in pairs if name != WORKLOADS]
    for cache, hashes in (
        (card.workloads_cache(), our_hashes),
        (card.packages_cache(), other_hashes),
    ):
        if cache and hashes:
            cache.mkdir(parents=True, exist_ok=True)
            arguments = ["buildcache", "push", "--unsigned", "--only=package", "--update-index"]
            command = card.spack_command(*arguments, cache.as_uri(), *hashes)
            run(command, card.checkout, card.environment)


def install_root(card: Card) -> str:
    """The folder below which Spack installs; StepError if `spack python` does not run."""
    code = "import spack.store; print(spack.store.STORE.unpadded_root)"
    output = find_output(card.spack_command("python", "-c", code), card.checkout, card.environment)
    if not output:
        raise StepError("`spack python` does not run: see `spack config get config`")
    return output.splitlines()[-1]


def restore_in_second_prefix(card: Card, steps: Steps, prefix: str) -> None:
    """Run the card again in a new prefix with `prefix` hidden, from the build cache only."""
    with tempfile.TemporaryDirectory(dir=card.options.cache, prefix="second-") as folder:
        for name in (SECOND_PREFIX, "written", "work"):
            (Path(folder) / name).mkdir(parents=True)
        hide = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", HIDING_SCRIPT, "sh"]
        command = [sys.executable, Path(__file__).parent, *card.second_card_options()]
        command += ["--prefix", Path(folder) / SECOND_PREFIX]
        with steps.step("second prefix, the first hidden (steps above)"):
            run([*hide, prefix, card.checkout, folder, *command], card.checkout)
