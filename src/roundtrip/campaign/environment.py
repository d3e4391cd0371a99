"""Records what a run is measured with, and finds what has changed since it began.

Host, toolchains, site and versions go into the folder ``env``; digests of its campaign, of
spack.lock, of its programs and of the shared libraries that these link into `pins` of state.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from itertools import zip_longest
from pathlib import Path

from roundtrip import files
from roundtrip.campaign.matrix import Matrix
from roundtrip.campaign.tree import RunTree
from roundtrip.collect import identity
from roundtrip.errors import UserError
from roundtrip.host import facts, programs
from roundtrip.sites.site import Site
from roundtrip.sites.toolchains import active_lock

_TOOLS = ("roundtrip", "reframe-hpc", "polars", "scipy")


def record_environment(site: Site, plan: Matrix, folder: Path) -> None:
    """Write ``host.json``, ``toolchains.json``, ``tools.json``, ``site-config.json`` to `folder`.

    The last is ReFrame's configuration of the site, whatever files it was made of.  Of an active
    Spack environment, ``spack.lock`` is copied.  ``tuning.json`` has what the user tunes, if
    anything.

    A resumed run records again: a file that differs from the first one is written beside it as
    ``<file>.resumed-<n>``, and nothing is overwritten.
    """
    folder.mkdir(exist_ok=True)
    used = sorted({item.case.environ for item in plan.expected})
    _write(folder / "host.json", json.dumps(facts.snapshot(), indent=1, sort_keys=True))
    _write(folder / "toolchains.json", json.dumps(_toolchains(site, used), indent=1))
    versions = {name: metadata.version(name) for name in _TOOLS}
    _write(folder / "tools.json", json.dumps(versions, indent=1))
    _write(folder / "site-config.json", json.dumps(site.system, indent=1))
    if lock := active_lock():
        _write(folder / "spack.lock", lock.read_text(encoding="utf-8"))
    if tunes := find_tuning(site):
        _write(folder / "tuning.json", json.dumps({"variables": [*tunes.items()]}, indent=1))


def tuning_warnings(site: Site) -> Iterator[str]:
    """A line for each thing that tunes MPI from outside of site and toolchains."""
    for name, value in find_tuning(site).items():
        yield f"{name} tunes MPI, and neither site nor toolchain sets it: {value[:80]}"


def find_tuning(site: Site) -> dict[str, str]:
    """What tunes MPI in launches of this site, and neither the site nor a toolchain sets."""
    places = [site.system, *site.partitions.values(), *site.toolchains.values()]
    declared = {str(name) for place in places for name in dict(place.get("env_vars") or ())}
    own = site.folder / "environment"
    script = own.read_text(errors="replace") if own.is_file() else ""
    return programs.tuning(declared | programs.set_variables(script))


def _toolchains(site: Site, names: list[str]) -> dict[str, object]:
    """By name: ReFrame's configuration of each toolchain, and what its installer recorded."""
    toolchains: dict[str, object] = {}
    for name in names:
        extras = site.toolchains[name].get("extras", {})
        installed = Path(str(extras.get("prefix", ""))) / "toolchain.json"
        toolchains[name] = {
            "reframe": site.toolchains[name],
            "installed": files.read_json(installed) if installed.is_file() else None,
        }
    return toolchains


def _write(file: Path, text: str) -> None:
    if file.exists():
        if file.read_text() == text:
            return
        earlier = len(list(file.parent.glob(f"{file.name}.resumed-*")))
        file = file.with_name(f"{file.name}.resumed-{earlier + 1}")
    file.write_text(text)


def record_pins(tree: RunTree) -> None:
    """Record the digests once everything is built.  A run that goes on keeps those that it has."""
    if tree.state.get("pins"):
        tree.write_state(stopped=None)
        return
    pins = [
        {"what": what, "file": str(file), "sha256": digest}
        for what, file in _pinned(tree)
        if (digest := programs.digest(file))
    ]
    tree.write_state(pins=pins)


def find_change(tree: RunTree) -> str:
    """What is not as it was when the run began, in one line; "" if everything is."""
    for pin in tree.state.get("pins") or ():
        file, before = Path(pin["file"]), pin["sha256"]
        now = programs.digest(file)
        if now != before:
            named = identity.by_name(pin["file"])
            what = f"{identity.MISMATCH}{pin['what']} {named} has changed since the run began"
            return f"{what}: sha256 {before[:12]} then, {now[:12] if now else 'unreadable'} now"
    return ""


def require_unchanged(tree: RunTree, campaign: Path) -> None:
    """UserError if something has changed since the run began, `campaign` included: a run that goes
    on would mix what was measured before with something else."""
    copy = tree.path / "campaign.toml"
    if programs.digest(campaign) != programs.digest(copy):
        line, before, now = _first_difference(files.read_text(copy), files.read_text(campaign))
        raise UserError(
            f"line was {before!r} when this run began, and is {now!r}; start a new run",
            campaign,
            line,
        )
    if why := find_change(tree):
        raise UserError(f"{why}; start a new run", tree.path / "state.json")


def _pinned(tree: RunTree) -> Iterator[tuple[str, Path]]:
    yield "campaign", tree.path / "campaign.toml"
    if lock := active_lock():
        yield "lock file", lock
    lists = sorted(tree.path.glob(f"builds/*/*/*/*/*/*/{programs.LISTED}"))
    # A full disk leaves an empty one of a build that failed.
    whole = (file for file in lists if file.stat().st_size)
    built = {Path(program) for file in whole for program in files.read_json(file)}
    linked = {file for program in built for file in programs.libraries(program).values()}
    yield from (("program", program) for program in sorted(built))
    yield from (("library", library) for library in sorted(linked))


def _first_difference(before: str, now: str) -> tuple[int, str, str]:
    """The number of the first line that differs, and the line in both texts."""
    lines = zip_longest(before.splitlines(), now.splitlines(), fillvalue="")
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            return number, old, new
    return 1, "", ""
