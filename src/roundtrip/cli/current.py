"""The default site, and the newest run and night, for calls without a site or a command."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roundtrip import paths
from roundtrip.errors import UserError

VARIABLE = "ROUNDTRIP_SITE"
#: The site of a machine without a cluster.
_LOCAL = "local"


@dataclass(frozen=True)
class Run:
    """The newest run tree of a site."""

    path: Path
    campaign: str
    site: str
    is_complete: bool


def site() -> str:
    """The activated site, else the only one that has reports, else this machine."""
    if active := os.environ.get(VARIABLE):
        return active
    try:
        names = {path.parent.name for path in paths.reports().glob("*/*/[0-9]*")}
    except UserError:
        names = set()
    return names.pop() if len(names) == 1 else _LOCAL


def sites(incomplete: str) -> list[str]:
    """Names of sites that begin with `incomplete`, for the shell's completion."""
    folder = paths.checkout() / "site-configs"
    names = sorted(path.parent.name for path in folder.glob("*/site.toml"))
    return [name for name in names if name.startswith(incomplete)]


def campaigns(incomplete: str) -> list[str]:
    """Names of campaigns that begin with `incomplete`, for the shell's completion."""
    names = sorted(path.stem for path in (paths.checkout() / "campaigns").glob("*.toml"))
    return [name for name in names if name.startswith(incomplete)]


def newest_run() -> Run | None:
    """The run tree that began last, of any campaign and site; None without one."""
    state_file = max(
        paths.runs().glob("*/*/*/state.json"), key=lambda path: path.parent.name, default=None
    )
    if state_file is None:
        return None
    try:
        state = json.loads(state_file.read_text(encoding="utf-8"))
        is_complete = bool(state.get("finished")) and state.get("report") != "wanted"
    except (OSError, ValueError, AttributeError):
        is_complete = False
    tree = state_file.parent
    return Run(tree, tree.parent.parent.name, tree.parent.name, is_complete)


def newest_night() -> Path | None:
    """The page of the newest published night; None without one."""
    pages = paths.reports().glob("*/*/[0-9]*/r*/report.html")
    return max(
        pages, key=lambda page: (page.parts[-3], len(page.parts[-2]), page.parts[-2]), default=None
    )


def lines() -> Iterator[str]:
    """Lines with the site, the newest run and night, and the next command to use."""
    site_name, run, night = site(), newest_run(), newest_night()
    origin = "activated" if os.environ.get(VARIABLE) else "default"
    yield f"site    {site_name} ({origin})"
    if run:
        state = "complete" if run.is_complete else "unfinished"
        yield f"run     {run.path} ({state})"
    if night:
        yield f"night   {night}"
    yield f"next    {_next_command(site_name, run, night)}"
    yield "help    roundtrip --help"


def _next_command(site_name: str, run: Run | None, night: Path | None) -> str:
    if run and not run.is_complete:
        return f"roundtrip run {run.campaign} --site {run.site} --resume"
    if night:
        return f"roundtrip history {site_name}"
    if site_name == _LOCAL and not any(paths.toolchains().glob("*/toolchain.json")):
        return "make campaign"
    return f"roundtrip run smoke --site {site_name}"
