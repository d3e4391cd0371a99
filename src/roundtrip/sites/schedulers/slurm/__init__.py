"""Slurm: its commands, options, variables and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roundtrip.sites.schedulers.interface import (
    Cluster,
    JobEnds,
    LauncherOptions,
    Partition,
    Runner,
    SitePart,
    command_output,
)
from roundtrip.sites.schedulers.slurm import facts
from roundtrip.sites.schedulers.slurm.jobs import Jobs
from roundtrip.sites.schedulers.slurm.launches import Launches
from roundtrip.sites.schedulers.slurm.nodes import Nodes

if TYPE_CHECKING:
    from roundtrip.sites.probe import Facts
    from roundtrip.sites.site import Finding, Site


class Slurm(Jobs, Nodes, Launches):
    """Slurm as ReFrame submits to it, with accounting (`slurm`) or without (`squeue`)."""

    key = "slurm"
    title = "Slurm"
    allocates = True
    reframe_schedulers = ("slurm", "squeue")
    step_launchers = ("srunalloc",)
    launcher = "srun"
    launcher_options = LauncherOptions(
        bind=("--cpu-bind=cores",),
        one_socket=("--distribution=block:block",),
        two_sockets=("--distribution=block:cyclic",),
        fail_fast=("--kill-on-bad-exit=1",),
        pmi="--mpi=",
    )
    unbound = "TaskPlugin lacks task/affinity"
    binding_hint = "`scontrol show config`: TaskPlugin, task/affinity"
    commands = ("sinfo", "squeue", "sacct", "scontrol", "scancel", "sbatch")
    lister, accounting, fallback, daemon = "sinfo", "sacct", "scontrol", "slurmd"
    spack_package, header, library = "slurm", "slurm/slurm.h", "libslurm.so"

    def cluster(self, run: Runner = command_output) -> Cluster:
        return facts.gather_facts(run)

    def partition_size(self, text: str, partition: str) -> dict[str, int]:
        return facts.partition_size(text, partition)

    def pmix_series(self, pmis: Iterable[str]) -> str | None:
        return facts.pmix_series(pmis)

    def spack_spec(self, version: str) -> str:
        # Spack writes 23.11.1 as 23-11-1-1.
        match = re.match(r"[\d.]+", version)
        number = match[0] if match else version
        return f"slurm@{number.replace('.', '-')}{'' if number.count('.') > 2 else '-1'}"

    # What a campaign need not load.

    def check(self, site: Site, cluster: Cluster) -> list[Finding]:
        from roundtrip.sites.schedulers.slurm import check

        return check.compare(site, cluster)

    def time_fault(self, script: str, partition: Mapping[str, Any], cluster: Cluster) -> str:
        from roundtrip.sites.schedulers.slurm import check

        return check.time_fault(script, partition, cluster)

    def job_ends(self, site: Site) -> JobEnds:
        from roundtrip.sites.schedulers.slurm import check

        return check.job_ends(site)

    def site_part(self, facts: Facts, partitions: Sequence[Partition]) -> SitePart:
        from roundtrip.sites.schedulers.slurm import new_site

        return new_site.site_part(facts, partitions)

    def fit_packages(self, text: str, facts: Facts) -> str:
        from roundtrip.sites.schedulers.slurm import new_site

        return new_site.fit_packages(text, facts)
