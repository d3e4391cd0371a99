"""``roundtrip site``: write a site's folder from facts of the cluster, or check one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from roundtrip import files, paths
from roundtrip.cli import app, common
from roundtrip.errors import UserError, writing
from roundtrip.sites import data, live, probe, programming_environments, software
from roundtrip.sites import lock as locks
from roundtrip.sites.check import check_site
from roundtrip.sites.new import write_site
from roundtrip.sites.site import Finding, Site
from roundtrip.sites.software import one_build_per_mpi

site_app = typer.Typer(no_args_is_help=True, help="Write a site's folder, or check one.")
app.add_typer(site_app, name="site")
_VERDICT_MARKS = {"ok": "ok         ", "fault": "FAULT      ", "not checked": "not checked"}


@common.command(
    "site check                     the site here",
    "site check mycluster --live    try its MPIs in jobs",
    group=site_app,
)
def check(
    name: common.SITE_FOLDER,
    scripts: Annotated[
        Path | None, typer.Option(help="Folder to write the rendered job scripts to.")
    ] = None,
    live: Annotated[
        bool, typer.Option(help="Also start two ranks of each MPI, on two nodes, one job each.")
    ] = False,
    write: Annotated[
        bool,
        typer.Option(
            help="With --live: write the lines that mend site.toml into it, and try again."
        ),
    ] = False,
    as_json: common.JSON = False,
) -> None:
    """Check a site: loads, fabric and binding, Slurm at hand, Spack part, lock file, job scripts.

    With --live it submits jobs.  Exit status: 0 no fault; 1 a fault; 2 bad input.
    """
    if write and not live:
        raise UserError("--write goes with --live, which finds what mends site.toml")
    if as_json and live:
        raise UserError("--json and --live: give one of them")
    site = Site(name, paths.checkout())
    findings = check_site(site, scripts)
    if as_json:
        from roundtrip import output

        print(output.text(output.SiteCheck, {"site": name, "findings": [*map(asdict, findings)]}))
        raise typer.Exit(findings_status(findings))
    status = print_findings(findings)
    if live:
        status = _check_live(site, write, status)
    raise typer.Exit(status)


def _check_live(site: Site, write: bool, status: int, old_lines: tuple[live.Line, ...] = ()) -> int:
    """Print live findings; with `write`, mend site.toml and check again; return the status."""
    result = live.check_live(site, lambda jobs: typer.echo(f"submitting   {jobs}"))
    status = max(status, print_findings(result.findings))
    lines = [line for line in result.lines if line not in old_lines]
    if not write or not lines:
        return status
    file = site.folder / data.FILE
    text = live.apply_lines(file.read_text(), lines, file)
    with writing(file.parent):
        files.replace(file, text.encode())
    for line in lines:
        typer.echo(f"written      {file}: {line}")
    mended_site = Site(site.name, site.checkout)
    return _check_live(
        mended_site, write, print_findings(check_site(mended_site, None)), (*old_lines, *lines)
    )


@common.command(
    "site new mycluster",
    "site new mycluster --partition batch",
    group=site_app,
)
def new(
    name: Annotated[str, typer.Argument(help="Name of the new folder in site-configs/.")],
    partition: Annotated[
        list[str] | None,
        typer.Option(help="A Slurm partition to measure on; by default those that cover all."),
    ] = None,
    software: Annotated[
        str, typer.Option(help="Who makes the MPIs: `spack`, or `toolchains` (make toolchains).")
    ] = "spack",
) -> None:
    """Write a site's folder from what this machine or cluster says of itself.

    Exit status: 0 written; 2 there is one already, or Slurm has no such partition (UserError).
    """
    if software not in ("spack", "toolchains"):
        raise UserError(f"--software is `spack` or `toolchains`, not '{software}'")
    facts = probe.gather_facts()
    for line in facts.lines():
        typer.echo(line)
    folder = write_site(name, facts, paths.checkout(), partition or (), software)
    typer.echo(f"\nwrote {folder}: go through its README.md, then `roundtrip site check {name}`")


@common.command("site lock spack.lock", group=site_app)
def lock(
    file: Annotated[
        Path | None, typer.Argument(help="Default: the active Spack environment's.")
    ] = None,
) -> None:
    """Prove that each MPI of a lock file is one build, and list its toolchains.

    The active environment's lock file must also be what spack.yaml asks for on the active site.
    Exit status: 0 proved; 1 not so; 2 no lock file, a broken one, or one of another spack.yaml.
    """
    lock_file = locks.read(file or programming_environments.active_lock() or Path("spack.lock"))
    active = os.environ.get("ROUNDTRIP_SITE")
    label: tuple[str, ...] = ()
    if active and file is None and (site := Site(active, paths.checkout())).spack:
        software.require_current(lock_file, site)
        label = site.declaration.label if site.declaration else ()
    status = print_findings(one_build_per_mpi(lock_file, label))
    table = Table("environment", "concrete spec", "MPI", "Boost", box=None)
    for item in programming_environments.toolchains(lock_file, label):
        mpi = f"{item.mpi.label} {item.mpi.hash[:7]}"
        table.add_row(item.name, item.root.hash[:7], mpi, f"{item.boost.label}")
    common.show(table)
    raise typer.Exit(status)


@site_app.command("mirror", hidden=True, context_settings={"ignore_unknown_options": True})
def mirror(words: Annotated[list[str], typer.Argument()]) -> None:
    """The old name of ``python -m tools.mirror``: warn, and run it."""
    typer.echo("`roundtrip site mirror` is now `python -m tools.mirror`", err=True)
    search = os.pathsep.join([str(paths.checkout()), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tools.mirror", *words]
    raise typer.Exit(subprocess.run(command, env={**os.environ, "PYTHONPATH": search}).returncode)


def print_findings(findings: list[Finding]) -> int:
    """Print a line for each finding; return 1 if one is a fault, else 0."""
    for item in findings:
        typer.echo(f"{_VERDICT_MARKS[item.verdict]}  {item.subject}: {item.detail}")
    return findings_status(findings)


def findings_status(findings: list[Finding]) -> int:
    """1 if a finding is a fault, else 0."""
    return int(any(item.verdict == "fault" for item in findings))
