"""The default site, and the newest run and night, for calls without a site or a command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape
from pathlib import Path

from roundtrip import files, paths
from roundtrip.errors import UserError

VARIABLE = "ROUNDTRIP_SITE"
#: The site of a machine without a cluster.
_LOCAL = "local"


def site() -> str:
    """The activated site, else the only one that has runs or reports, else this machine.

    UserError if the activated site is unknown.
    """
    try:
        folders = (*paths.reports().glob("*/*/[0-9]*"), *paths.runs().glob("*/*/[0-9]*"))
    except UserError:
        folders = ()
    names = {path.parent.name for path in folders}
    active = os.environ.get(VARIABLE)
    if not active:
        return names.pop() if len(names) == 1 else _LOCAL
    if active not in (known := names.union(sites(""))):
        raise UserError(f"{VARIABLE}={active}: unknown site; there are: {', '.join(sorted(known))}")
    return active


def sites(incomplete: str) -> list[str]:
    """Names of sites that begin with `incomplete`, for the shell's completion."""
    names = (path.parent.name for path in paths.checkout().glob("site-configs/*/site.toml"))
    return sorted(name for name in names if name.startswith(incomplete))


def campaigns(incomplete: str) -> list[str]:
    """Names of campaigns that begin with `incomplete`, for the shell's completion."""
    names = (path.stem for path in paths.checkout().glob("campaigns/*.toml"))
    return sorted(name for name in names if name.startswith(incomplete))


def toolchains(incomplete: str) -> list[str]:
    """Names of built toolchains that begin with `incomplete`, for the shell's completion."""
    names = (path.parent.name for path in paths.toolchains().glob("*/toolchain.json"))
    return sorted(name for name in names if name.startswith(incomplete))


def newest_run(site_name: str) -> Path | None:
    """The run tree of a site that began last, of any campaign; None without one."""
    state_files = paths.runs().glob(f"*/{escape(site_name)}/*/state.json")
    return max((file.parent for file in state_files), key=lambda tree: tree.name, default=None)


def _is_complete(run: Path) -> bool:
    state = files.read_object_in_tree(run / "state.json")
    return bool(state.get("finished")) and state.get("report") != "wanted"


def newest_night(site_name: str) -> Path | None:
    """The page of the newest published night of a site; None without one."""
    pages = paths.reports().glob(f"*/{escape(site_name)}/[0-9]*/r*/report.html")
    return max(
        pages, key=lambda page: (page.parts[-3], len(page.parts[-2]), page.parts[-2]), default=None
    )


def _has_history(site_name: str) -> bool:
    """Whether a campaign of the site has several nights, or imported ones."""
    folders = paths.reports().glob(f"*/{escape(site_name)}/[!.]*")
    parents = [path.parent for path in folders if path.is_dir()]
    return len(set(parents)) < len(parents)


def lines() -> Iterator[str]:
    """Lines with the site, the newest run and night, and the next command to use."""
    site_name = site()
    run, night = newest_run(site_name), newest_night(site_name)
    origin = "activated" if os.environ.get(VARIABLE) else "default"
    yield f"site    {site_name} ({origin})"
    if run:
        yield f"run     {run} ({'complete' if _is_complete(run) else 'unfinished'})"
    if night:
        yield f"night   {night}"
    yield f"next    {_next_command(site_name, run, night)}"
    yield "help    roundtrip --help"


def _next_command(site_name: str, run: Path | None, night: Path | None) -> str:
    if run and not _is_complete(run) and (campaign := run.parents[1].name) in campaigns(""):
        return f"roundtrip run {campaign} --site {site_name} --resume"
    if night:
        is_first = not _has_history(site_name)
        return f"open {night} in a browser" if is_first else f"roundtrip history {site_name}"
    if site_name == _LOCAL and not toolchains(""):
        is_clone = (paths.checkout() / "Makefile").is_file()
        return "make campaign" if is_clone else "roundtrip toolchains"
    campaign = "smoke" if site_name == _LOCAL else "boost-netpipe"
    campaign = site_name if site_name in campaigns("") else campaign
    return f"roundtrip run {campaign} --site {site_name}"
