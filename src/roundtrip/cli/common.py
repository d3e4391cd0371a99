"""Shared by the commands: parameters, the default site, the newest run and night, and output."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from typer import Argument, Option

from roundtrip import files, paths
from roundtrip.errors import UserError, printable
from roundtrip.measure import store
from roundtrip.model import NAME_RULE, is_name

if TYPE_CHECKING:
    from rich.table import Table

    from roundtrip.history.annotations import Annotation
    from roundtrip.history.ledger import Ledger

#: Standard error, where a progress bar is shown.
console = Console(stderr=True, markup=False, emoji=False)
#: Wider than any row.
_UNLIMITED_WIDTH = 100_000
_SITE_VARIABLE = "ROUNDTRIP_SITE"
#: The site of a machine without a cluster.
_LOCAL_SITE = "local"


def default_site() -> str:
    """The activated site, else the only one that has runs or reports, else this machine; UserError
    if the activated site is unknown."""
    try:
        sites_with_nights = filter(store.night_folders, store.site_folders(paths.reports()))
        state_files = paths.runs().glob("*/*/*/state.json")  # not what ReFrame leaves by hand
        names = {site.name for site in sites_with_nights}
        names |= {file.parents[1].name for file in state_files}
    except UserError:
        names = set()
    active = os.environ.get(_SITE_VARIABLE)
    if not active:
        return names.pop() if len(names) == 1 else _LOCAL_SITE
    if active not in (known := names.union(complete_site(""))):
        legal = ", ".join(sorted(known))
        raise UserError(f"{_SITE_VARIABLE}={active}: unknown site; there are: {legal}")
    return active


def complete_site(incomplete: str) -> list[str]:
    """Names of sites that begin with `incomplete`, for the shell."""
    names = (path.parent.name for path in paths.checkout().glob("site-configs/*/site.toml"))
    return sorted(name for name in names if name.startswith(incomplete))


def complete_campaign(incomplete: str) -> list[str]:
    """Names of campaigns that begin with `incomplete`, for the shell."""
    names = (path.stem for path in paths.checkout().glob("campaigns/*.toml"))
    return sorted(name for name in names if name.startswith(incomplete))


def complete_toolchain(incomplete: str) -> list[str]:
    """Names of built toolchains that begin with `incomplete`, for the shell."""
    names = (path.parent.name for path in paths.toolchains().glob("*/toolchain.json"))
    return sorted(name for name in names if name.startswith(incomplete))


_SITE_SETTINGS: dict[str, Any] = {
    "default_factory": default_site,
    "show_default": "the one here",
    "autocompletion": complete_site,
}
SITE_OPTION = Option(**_SITE_SETTINGS, help="Folder in site-configs/.")
SITE_FOLDER_ARGUMENT = Argument(**_SITE_SETTINGS, help="Folder in site-configs/.")
REPORTED_SITE_ARGUMENT = Argument(**_SITE_SETTINGS, help="The site whose reports are read.")
CAMPAIGN_ARGUMENT = Argument(
    None, autocompletion=complete_campaign, help="One campaign; all by default."
)
REPORTS_OPTION = Option(None, help="Folder of published reports; reports/ by default.")
JSON_OPTION = Option(False, "--json", help="Print JSON.")
WAIT_OPTION = Option(False, "--wait", help="Wait until no other campaign measures on the site.")
BUDGET_SETTINGS: dict[str, Any] = {"metavar": "20m", "help": "Maximum time for launches."}


def require_names(*names: str | None) -> None:
    """UserError for an illegal name of a site or campaign."""
    for name in filter(None, names):
        if not is_name(name):
            raise UserError(f"{name!r}: {NAME_RULE}")


def parse_minutes(length: str, option: str = "--budget") -> float:
    """Parse ``90s``, ``20m`` or ``1h30m`` into minutes; UserError for other forms and for 0."""
    from roundtrip.measure import campaign_file  # commands that launch nothing do not need it

    value = campaign_file.parse_minutes(length)
    if value is None:
        raise UserError(f"{option} {length}: {campaign_file.DURATION_FORM}")
    return value


def parse_fraction(text: str, option: str = "--fail-on") -> float:
    """Parse ``3%`` into a fraction; UserError unless between 0 and 100 %."""
    match = re.fullmatch(r"(\d+(\.\d+)?)\s*%", text.strip())
    value = float(match[1]) / 100 if match else 0.0
    if not 0 < value < 1:
        raise UserError(f"{option} {text}: a percentage above 0 and below 100, such as 3%")
    return value


def reports_and_campaigns(
    reports: Path | None, site: str, campaign: str | None
) -> tuple[Path, list[str]]:
    """Return the folder of the reports, and `[campaign]` if given, else all campaigns of `site`."""
    require_names(site, campaign)
    folder = reports or paths.reports()
    names = [store.split_site_folder(path)[1] for path in store.site_folders(folder, site=site)]
    return folder, [campaign] if campaign else names


def no_night_error(folder: Path, site: str, campaign: str | None, scope: str = "") -> UserError:
    """Return a UserError: `site` has no published night; `scope` is text after the site's name."""
    prefix = f"campaign '{campaign}' on " if campaign else ""
    return UserError(f"no published night of {prefix}site '{site}'{scope}", folder)


def read_ledger(
    folder: Path, campaign: str, site: str, annotations: Sequence[Annotation] = ()
) -> Ledger:
    """The ledger of a campaign's nights on a site; omitted nights are printed as warnings."""
    from roundtrip.history import ledger  # it loads polars

    nights = ledger.read_ledger(folder, campaign, site, annotations)
    for warning in nights.warnings:
        print_warning(printable(warning))
    return nights


def status_lines() -> Iterator[str]:
    """Yield lines that say the site, the newest run and night, and the next command to use."""
    site = default_site()
    run, night = _newest_run(site), newest_night(site)
    state = files.read_object_in_tree(run / "state.json") if run else {}
    is_complete = bool(state.get("finished")) and state.get("report") != "wanted"
    yield f"site    {site} ({'activated' if os.environ.get(_SITE_VARIABLE) else 'default'})"
    if run:
        yield f"run     {run} ({'complete' if is_complete else 'unfinished'})"
    if night:
        yield f"night   {night}"
    yield f"next    {_suggest_command(site, None if is_complete else run, night)}"
    yield "help    roundtrip --help"


def _newest_run(site: str) -> Path | None:
    """The run tree of a site that began last, of any campaign; None without one."""
    state_files = paths.runs().glob(f"*/{escape(site)}/*/state.json")
    return max((file.parent for file in state_files), key=lambda tree: tree.name, default=None)


def newest_night(site: str) -> Path | None:
    """The page of the newest published night of a site; None without one."""
    revisions = (
        revision
        for folder in store.site_folders(paths.reports(), site=site)
        for revision in store.all_revisions(folder)
        if store.page_link(revision, folder)
    )
    newest = max(
        revisions,
        key=lambda path: (path.parent.name, store.revision_number(path.name) or 0),
        default=None,
    )
    return newest and store.file_path(newest, store.PAGE_FILE)


def _suggest_command(site: str, unfinished: Path | None, page: Path | None) -> str:
    if unfinished and (campaign := unfinished.parents[1].name) in complete_campaign(""):
        return f"roundtrip run {campaign} --site {site} --resume"
    if page:
        has_history = any(  # several nights, or imported ones
            len(store.night_folders(folder)) + bool(store.import_folders(folder)) > 1
            for folder in store.site_folders(paths.reports(), site=site)
        )
        return f"roundtrip history {site}" if has_history else f"open {page} in a browser"
    if site == _LOCAL_SITE and not complete_toolchain(""):
        is_clone = (paths.checkout() / "Makefile").is_file()
        return "make campaign" if is_clone else "roundtrip toolchains"
    campaign = "smoke" if site == _LOCAL_SITE else "boost-netpipe"
    campaign = site if site in complete_campaign("") else campaign
    return f"roundtrip run {campaign} --site {site}"


def print_warning(text: str) -> None:
    """Print a warning as one line on standard error."""
    print(f"warning: {text}", file=sys.stderr)


def resume_command(*options: str) -> str:
    """The command that was given, with --resume and those `options`, as --name=value, it lacks."""
    arguments = sys.argv[1:]
    names = {word.partition("=")[0] for word in arguments}
    more = [word for word in (*options, "--resume") if word.partition("=")[0] not in names]
    return shlex.join(["roundtrip", *arguments, *more])


def print_status(line: str) -> None:
    """Print one line on standard error, above a progress bar that is shown there."""
    console.print(line, highlight=False, soft_wrap=True)


def print_table(table: Table) -> None:
    """Print `table` without truncation: folded on a terminal, else with one line for each row."""
    for column in table.columns:
        column.overflow = "fold"
    page = Console(markup=False, highlight=False)
    if not page.is_terminal and "COLUMNS" not in os.environ:
        page.width = _UNLIMITED_WIDTH
    page.print(table)
