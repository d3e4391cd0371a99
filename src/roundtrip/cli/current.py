"""The default site, and the newest run and night, for calls without a site or a command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape
from pathlib import Path

from roundtrip import files, paths
from roundtrip.errors import UserError
from roundtrip.measure import store

VARIABLE = "ROUNDTRIP_SITE"
#: The site of a machine without a cluster.
_LOCAL = "local"


def site() -> str:
    """The activated site, else the only one that has runs or reports, else this machine.

    UserError if the activated site is unknown.
    """
    try:
        sites_with_nights = filter(store.nights, store.site_folders(paths.reports()))
        run_folders = paths.runs().glob("*/*/[0-9]*")
        names = {site.name for site in sites_with_nights} | {run.parent.name for run in run_folders}
    except UserError:
        names = set()
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
    revisions = (
        revision
        for folder in store.site_folders(paths.reports(), site=site_name)
        for revision in store.all_revisions(folder)
        if store.link(revision, folder)
    )
    newest = max(
        revisions, key=lambda path: (path.parent.name, store.number(path.name) or 0), default=None
    )
    return newest and store.file(newest, store.PAGE)


def _has_history(site_name: str) -> bool:
    """Whether a campaign of the site has several nights, or imported ones."""
    return any(
        len(store.nights(folder)) + store.imports_folder(folder).is_dir() > 1
        for folder in store.site_folders(paths.reports(), site=site_name)
    )


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
