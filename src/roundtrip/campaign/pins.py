"""What a run begins with and must end with: digests of its campaign, of spack.lock, of its programs
and of the shared libraries that these link.  They stand in `pins` of state.json."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from roundtrip import files
from roundtrip.campaign.tree import RunTree
from roundtrip.collect import identity
from roundtrip.errors import UserError
from roundtrip.host import programs
from roundtrip.sites.toolchains import active_lock

_CAMPAIGN, _LOCK = "campaign", "lock file"


def take(tree: RunTree) -> None:
    """Record the digests once everything is built.  A run that goes on keeps those that it has."""
    if tree.state.get("pins"):
        tree.write_state(stopped=None)
        return
    found = [
        {"what": what, "file": str(file), "sha256": digest}
        for what, file in _pinned(tree)
        if (digest := programs.digest(file))
    ]
    tree.write_state(pins=found)


def changed(tree: RunTree) -> str:
    """What is not as it was when the run began, in one line; "" if everything is."""
    for pin in tree.state.get("pins") or ():
        file, before = Path(pin["file"]), pin["sha256"]
        now = programs.digest(file)
        if now != before:
            named = identity.by_name(pin["file"])
            what = f"{identity.MISMATCH}{pin['what']} {named} has changed since the run began"
            return f"{what}: sha256 {before[:12]} then, {now[:12] if now else 'unreadable'} now"
    return ""


def require_same(tree: RunTree, campaign: Path) -> None:
    """UserError if something has changed since the run began, `campaign` included: a run that goes
    on would mix what was measured before with something else."""
    copy = tree.path / "campaign.toml"
    if programs.digest(campaign) != programs.digest(copy):
        line, before, now = _first_difference(files.read_text(copy), files.read_text(campaign))
        told = f"line was {before!r} when this run began, and is {now!r}; start a new run"
        raise UserError(told, campaign, line)
    if why := changed(tree):
        raise UserError(f"{why}; start a new run", tree.path / "state.json")


def _pinned(tree: RunTree) -> Iterator[tuple[str, Path]]:
    yield _CAMPAIGN, tree.path / "campaign.toml"
    if lock := active_lock():
        yield _LOCK, lock
    every = sorted(tree.path.glob(f"builds/*/*/*/*/*/*/{programs.LISTED}"))
    # A full disk leaves an empty one of a build that failed.
    listed = (file for file in every if file.stat().st_size)
    built = {Path(program) for file in listed for program in files.read_json(file)}
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
