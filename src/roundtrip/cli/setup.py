"""``roundtrip init``, ``doctor``, ``toolchains``, ``site``, ``study``: before the first run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from roundtrip import files, output, paths, studies
from roundtrip.cli import app, command, common
from roundtrip.errors import UserError, report_write_errors
from roundtrip.measure import analysis
from roundtrip.sites import data, machine, probe, programming_environments, software
from roundtrip.sites import lock as locks
from roundtrip.sites.check import check_live, check_site
from roundtrip.sites.doctor import can_measure, diagnose_machine
from roundtrip.sites.new import require_new_name, write_site
from roundtrip.sites.site import Finding, Site
from roundtrip.sites.site_file import SettingLine, apply_lines
from roundtrip.sites.software import check_one_build_per_mpi
from roundtrip.sites.toolchains.build import build_plans, pending_plans
from roundtrip.sites.toolchains.spec import read_catalogue
from roundtrip.sites.toolchains.store import BuildError, ToolchainStore, toolchain_states
from roundtrip.study import load_studies

_STYLE_BY_LEVEL = {"ok": "green", "warn": "yellow", "impossible": "bold red"}
#: The contents of a campaign folder in a wheel; a checkout is a campaign folder itself.
_SHIPPED_FOLDER = Path(studies.__file__).parents[1] / "shipped"


@command("init mycampaign      then: cd mycampaign")
def init(folder: Path = Argument(help="A new folder, or an empty one.")) -> None:
    """Lay out a campaign folder: campaigns, checks, sites, programs, and Spack's environment.

    Exit status: 0 laid out; 2 bad input: the folder is not empty, or this is a checkout.
    """
    if not _SHIPPED_FOLDER.is_dir():
        raise UserError("this roundtrip runs from a checkout, which is a campaign folder itself")
    with report_write_errors(folder):
        if folder.exists() and next(folder.iterdir(), None):
            raise UserError("not empty: a campaign folder is laid out in a new one", folder)
        shutil.copytree(_SHIPPED_FOLDER, folder, dirs_exist_ok=True)
    typer.echo(f"laid out {folder}; next, in it: roundtrip doctor, then roundtrip run smoke")


@command(
    "doctor            and what difference can be seen now",
    "doctor --quick    in a second",
)
def doctor(
    quick: bool = Option(False, "--quick", help="Skip the A/A test of ten seconds."),
) -> None:
    """Find what disturbs measurements here, and the smallest difference that can be detected now.

    Exit status: 0 measuring is possible; 1 it is not.
    """
    packages = machine.campaign_packages()
    versions = machine.installed_packages(packages)
    missing_packages = (
        None if versions is None else [name for name in packages if name not in versions]
    )
    states = toolchain_states(
        read_catalogue().available_toolchains, ToolchainStore(paths.toolchains())
    )
    host = machine.read_host()
    findings = diagnose_machine(host, missing_packages, states)
    if not quick and can_measure(findings):
        from roundtrip.sites import interference

        levels = analysis.default_settings().statistics
        findings += interference.interference_diagnoses(
            interference.measure_blocks(), levels, host.autogroup
        )
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        text = Text(finding.detail)
        if finding.advice:
            text.append(f"\n-> {finding.advice}", style="dim")
        table.add_row(
            Text(finding.level, style=_STYLE_BY_LEVEL[finding.level]), finding.topic, text
        )
    Console(markup=False).print(table)
    if not can_measure(findings):
        raise typer.Exit(1)


@command(
    "toolchains                         those of campaign smoke",
    "toolchains openmpi50-boost188      only this one",
)
def toolchains(
    names: list[str] | None = Argument(
        None, metavar="[NAME]...", help="Default: those of campaign `smoke`."
    ),
    everything: bool = Option(False, "--all", help="All toolchains that this machine can have."),
    listing: bool = Option(
        False, "--list", help="Show the state of the named toolchains, or of all; build none."
    ),
) -> None:
    """Build toolchains: a compiler, an MPI and a Boost in one prefix, tested with two ranks."""
    store = ToolchainStore(paths.toolchains())
    all_toolchains = read_catalogue()
    selection = all_toolchains.select(names or [], everything)
    if listing:
        listed = selection if names or everything else all_toolchains.available_toolchains
        table = Table("toolchain", "state", box=None)
        for name, state in toolchain_states(listed, store).items():
            table.add_row(name, state)
        common.print_table(table)
        return
    if not pending_plans(selection, store):
        print(f"toolchains: {len(selection)} good, nothing to build")
        return
    try:
        waiting = "toolchains: another build of them is running; waiting for it"
        with _BuildProgress() as board, store.lock(lambda: print(waiting)):
            build_plans(pending_plans(selection, store), store, board.report)
    except BuildError as error:
        print(f"roundtrip: {error.describe_failure()}", file=sys.stderr)
        raise typer.Exit(1) from None
    print(f"toolchains: {len(selection)} good")


class _BuildProgress:
    """A line for each toolchain: redrawn on a terminal, else at begin and end of its build."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}", markup=False))
        self._progress = Progress(*columns, TimeElapsedColumn())
        self._tasks: dict[str, tuple[TaskID, float]] = {}

    def __enter__(self) -> _BuildProgress:
        if self._progress.console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress.console.is_terminal:
            self._progress.stop()

    def report(self, name: str, state: str) -> None:
        if not self._progress.console.is_terminal:
            if name not in self._tasks:
                self._tasks[name] = (TaskID(0), time.monotonic())
                print(f"toolchains: {name} ({state}) ...", flush=True)
            elif state == "good":
                print(f"toolchains: {name}: good, {time.monotonic() - self._tasks[name][1]:.0f} s")
            return
        if name not in self._tasks:
            self._tasks[name] = (self._progress.add_task(name, total=1), time.monotonic())
        task = self._tasks[name][0]
        self._progress.update(task, description=f"{name:20} {state}", completed=state == "good")


site_app = typer.Typer(no_args_is_help=True, help="Write a site's folder, or check one.")
app.add_typer(site_app, name="site")
_PREFIX_BY_VERDICT = {"ok": "ok         ", "fault": "FAULT      ", "not checked": "not checked"}


@command(
    "site check                     the site here",
    "site check mycluster --live    try its MPIs in jobs",
    group=site_app,
)
def check(
    name: str = common.SITE_FOLDER_ARGUMENT,
    scripts: Path | None = Option(None, help="Folder to write the rendered job scripts to."),
    live: bool = Option(
        False, help="Also start two ranks of each MPI, on two nodes, one job each."
    ),
    write: bool = Option(
        False, help="With --live: write the corrections into site.toml, and try again."
    ),
    as_json: bool = common.JSON_OPTION,
) -> None:
    """Check a site: it loads, fabric and binding, scheduler, Spack part, lock file, job scripts.

    With --live it submits jobs.  Exit status: 0 no fault; 1 a fault; 2 bad input.
    """
    if write and not live:
        raise UserError("--write goes with --live, which finds what mends site.toml")
    if as_json and live:
        raise UserError("--json and --live: give one of them")
    site = Site(name, paths.checkout())
    findings = collect_findings(site, scripts)
    if not any(item.subject == data.SITE_FILE for item in findings):
        for warning in site.warnings:
            common.print_warning(warning)
    if as_json:
        print(
            output.json_text(output.SiteCheck, {"site": name, "findings": [*map(asdict, findings)]})
        )
        raise typer.Exit(findings_status(findings))
    status = print_findings(findings)
    if live:
        status = _check_live(site, write, status)
    raise typer.Exit(status)


def collect_findings(site: Site, scripts: Path | None = None) -> list[Finding]:
    """The findings of `check_site`, then the faults in what the site says of its nights."""
    from roundtrip.history import annotations as notes

    findings = check_site(site, scripts)
    for name, load in (("annotations.yaml", notes.load), ("analysis.toml", analysis.load)):
        file = site.folder / name
        try:
            if file.exists():
                load(file)
        except UserError as error:
            findings.append(Finding("fault", name, str(error)))
    return findings


def _check_live(
    site: Site, write: bool, status: int, old_lines: tuple[SettingLine, ...] = ()
) -> int:
    """Print live findings; with `write`, mend site.toml and check again; return the status."""
    result = check_live(site, lambda jobs: typer.echo(f"submitting   {jobs}"))
    status = max(status, print_findings(result.findings))
    lines = [line for line in result.lines if line not in old_lines]
    if not write or not lines:
        return status
    file = site.folder / data.SITE_FILE
    text = apply_lines(file.read_text(), lines, file)
    with report_write_errors(file.parent):
        files.replace_file(file, text.encode())
    for line in lines:
        typer.echo(f"written      {file}: {line}")
    mended_site = Site(site.name, site.checkout)
    return _check_live(
        mended_site, write, print_findings(collect_findings(mended_site)), (*old_lines, *lines)
    )


@command(
    "site new mycluster",
    "site new mycluster --partition batch",
    group=site_app,
)
def new(
    name: str = Argument(help="Name of the new folder in site-configs/."),
    partition: list[str] | None = Option(
        None, help="A partition or queue to measure on; by default those that cover all nodes."
    ),
    software: str = Option(
        "spack", help="Who makes the MPIs: `spack`, or `toolchains` (make toolchains)."
    ),
) -> None:
    """Write a site's folder from facts of this machine or cluster.

    Exit status: 0 written; 2 bad input: the folder exists, or there is no such partition.
    """
    if software not in ("spack", "toolchains"):
        raise UserError(f"--software is `spack` or `toolchains`, not '{software}'")
    require_new_name(name, paths.checkout())  # before the probe, which takes seconds
    facts = probe.collect_machine_facts()
    for line in facts.describe_lines():
        typer.echo(line)
    folder = write_site(name, facts, paths.checkout(), partition or (), software)
    typer.echo(f"\nwrote {folder}: go through its README.md, then `roundtrip site check {name}`")


@command("site lock spack.lock", group=site_app)
def lock(
    file: Path | None = Argument(None, help="Default: the active Spack environment's."),
) -> None:
    """Prove that each MPI of a lock file is one build, and list its toolchains.

    The active environment's lock file must also be what spack.yaml asks for on the active site.
    Exit status: 0 proved; 1 not so; 2 no lock file, a broken one, or one of another spack.yaml.
    """
    lock_file = locks.read_lock(
        file or programming_environments.active_lock() or Path("spack.lock")
    )
    active = os.environ.get("ROUNDTRIP_SITE")
    name_parts: tuple[str, ...] = ()
    if active and file is None and (site := Site(active, paths.checkout())).spack_folder:
        software.require_current_lock(lock_file, site)
        name_parts = site.site_data.label if site.site_data else ()
    status = print_findings(check_one_build_per_mpi(lock_file, name_parts))
    table = Table("environment", "concrete spec", "MPI", "Boost", box=None)
    for item in programming_environments.toolchains_in_lock(lock_file, name_parts):
        mpi = f"{item.mpi.name_version} {item.mpi.hash[:7]}"
        table.add_row(item.name, item.root.hash[:7], mpi, f"{item.boost.name_version}")
    common.print_table(table)
    raise typer.Exit(status)


@site_app.command("mirror", hidden=True, context_settings={"ignore_unknown_options": True})
def mirror(words: list[str] = Argument()) -> None:
    """The old name of ``python -m tools.mirror``: warn, and run it."""
    typer.echo("`roundtrip site mirror` is now `python -m tools.mirror`", err=True)
    search = os.pathsep.join([str(paths.checkout()), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tools.mirror", *words]
    raise typer.Exit(subprocess.run(command, env={**os.environ, "PYTHONPATH": search}).returncode)


def print_findings(findings: list[Finding]) -> int:
    """Print a line for each finding; return 1 if one is a fault, else 0."""
    for item in findings:
        typer.echo(f"{_PREFIX_BY_VERDICT[item.verdict]}  {item.subject}: {item.detail}")
    return findings_status(findings)


def findings_status(findings: list[Finding]) -> int:
    """1 if a finding is a fault, else 0."""
    return int(any(item.verdict == "fault" for item in findings))


study_app = typer.Typer(no_args_is_help=True, help="List the studies, or begin a new one.")
app.add_typer(study_app, name="study")


@command("study list", name="list", group=study_app)
def list_studies() -> None:
    """Name, title and question of each study, in the order of the report."""
    table = Table("study", "title", "question", box=None, pad_edge=False)
    for study in load_studies():
        table.add_row(*map(Text, (study.name, study.title, study.question)))
    common.print_table(table)


@command("study new barrier", name="new", group=study_app)
def new_study(name: str = Argument(help="Lower-case name, as in checks/<name>/.")) -> None:
    """Write a study that measures, checks and reports; then make it yours.

    It touches no file that exists.  Exit status: 0 written; 2 the name cannot be used.
    """
    new_files = studies.create_study(name, paths.checkout())
    for file in new_files:
        typer.echo(f"wrote {file}")
    typer.echo(f"next: roundtrip run {name} --site local; then docs/add-a-study.md")
