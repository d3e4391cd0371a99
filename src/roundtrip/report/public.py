"""Copies published reports, and what was imported, into a tree that a static host can serve.

A tree has ``<campaign>/<site>/<night>/r<N>/`` and ``<campaign>/<site>/imported/<digest>/``, as the
reports of a machine have.  What is in it is never overwritten, and a folder that has its name is
whole: it is copied beside and renamed at the end.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from roundtrip import files, imported
from roundtrip import partial as partials
from roundtrip.collect import manifest, reader, signature
from roundtrip.collect.manifest import Manifest
from roundtrip.errors import UserError, writing
from roundtrip.history import published
from roundtrip.imported import store
from roundtrip.model import is_name
from roundtrip.report import place, publish, revision

_CLEAN = "commit the changes (or `git stash` them), and run the campaign again"


@dataclass(frozen=True)
class Copied:
    """Where a report or an import is now, whether it was there before, and who signed a report."""

    path: Path
    was_there: bool
    signed: str = ""


def found(places: Iterable[Path]) -> list[Path]:
    """The revisions and imports that `places` are or hold, older revisions first.

    UserError for a place that is and holds none.
    """
    every: set[Path] = set()
    for one in places:
        try:
            folder = (one.parent if one.name == "report.html" else one).resolve()
        except RuntimeError:
            raise UserError("its symbolic links lead in a circle", one) from None
        marks = [*folder.rglob(published.FACTS), *folder.rglob(store.SOURCE)]
        inside = {mark.parent for mark in marks if _is_name(mark.parent)}
        if not inside:
            raise UserError("neither a published report nor a folder of some", one)
        every |= inside
    return sorted(every, key=_order)


def copy(source: Path, public: Path) -> Copied:
    """Copy a revision or an import into the tree `public`.

    A report is rebuilt first.  UserError for one that differs or is damaged, whose signature is
    forged, of a run with uncommitted changes, or that would overwrite another; then nothing is
    changed.  Several processes may copy at the same time.
    """
    return _copy_import(source, public) if _is_import(source) else _copy_report(source, public)


def _is_import(folder: Path) -> bool:
    return folder.parent.name == imported.FOLDER


def _is_name(folder: Path) -> bool:
    return _is_import(folder) or published.number(folder.name) is not None


def _order(folder: Path) -> tuple[str, int, str]:
    return str(folder.parent), published.number(folder.name) or 0, folder.name


def refusal(source: Path, public: Path) -> str:
    """The UserError of `copy` before it rebuilds anything, as text; "" without one."""
    try:
        if _is_import(source):
            store.require_whole(source)
        else:
            checked, _, _ = _checked(source)
            reader.require(source / published.BUNDLE)
            place.require_once(place.site(checked, public), checked)
    except UserError as error:
        return str(error)
    return ""


def _checked(source: Path) -> tuple[Manifest, Mapping[str, Any], str]:
    """The manifest and the facts of a revision that may be published, and who signed it."""
    checked, facts = _whole(source)
    _require_clean(checked, source)
    return checked, facts, signature.of(source / published.BUNDLE, checked).sentence


def _copy_report(source: Path, public: Path) -> Copied:
    checked, facts, signed = _checked(source)
    with _site(public, checked.data["campaign"], checked.data["site"]) as site:
        night = place.night(site, checked, corrects=False)
        target = night / source.name
        older = facts.get("supersedes")
        if older is not None and not (night / str(older)).is_dir():
            raise UserError(f"it supersedes {older}, which is not published: publish both", source)
        wanted = revision.whole(facts)
        if not target.exists():
            place.require_once(site, checked)
            _require_rebuilt(source)
        return replace(_copy(source, target, wanted), signed=signed)


def _require_rebuilt(source: Path) -> None:
    """UserError for a report that is not what its bundle gives."""
    reader.require(source / published.BUNDLE)
    if changed := publish.verify(source):
        why = f"{_first(changed)} differs when rebuilt: edited, or by another version of Roundtrip"
        raise UserError(f"{why}; `roundtrip report` with --supersedes makes it anew", source)


def _first(changed: Sequence[str]) -> str:
    return changed[0] + (f" (and {len(changed) - 1} more)" if len(changed) > 1 else "")


def _copy_import(source: Path, public: Path) -> Copied:
    told = store.require_whole(source)
    campaign, site_name = told.get("campaign"), told.get("site")
    for name in (campaign, site_name):
        if not isinstance(name, str) or not is_name(name):
            raise UserError("no name of a campaign and a site", source / store.SOURCE)
    with _site(public, str(campaign), str(site_name)) as site:
        (site / imported.FOLDER).mkdir(exist_ok=True)
        wanted = {name: _digest(source / name) for name in store.FILES}
        return _copy(source, site / imported.FOLDER / source.name, wanted)


def _whole(source: Path) -> tuple[Manifest, Mapping[str, Any]]:
    """The manifest and the facts of a revision that is as it was published; else UserError."""
    facts = files.read_json(source / published.FACTS)
    if not isinstance(facts, dict) or not isinstance(facts.get("files"), dict):
        told = "lacks digests of its files: publish it again with `roundtrip report BUNDLE`"
        raise UserError(told, source / published.FACTS)
    checked = manifest.verify(source / published.BUNDLE)
    changed = revision.damage(source, facts)
    if checked.digest != facts.get("digest"):
        changed = [f"{published.BUNDLE}/{manifest.FILE_NAME}", *changed]
    if changed:
        raise UserError(f"{_first(changed)} is not as it was published", source)
    return checked, facts


def _require_clean(checked: Manifest, source: Path) -> None:
    git = checked.data["git"]
    if git.get("dirty"):
        told = f"measured with uncommitted changes, so nobody could repeat it: {_CLEAN}"
        raise UserError(told, source)
    if not git.get("commit") or git.get("dirty") is None:
        told = "does not say of which commit of Roundtrip it is: run the campaign in a git clone"
        raise UserError(told, source)


@contextmanager
def _site(public: Path, campaign: str, name: str) -> Iterator[Path]:
    """The folder of a campaign on a site in `public`; other processes wait for it."""
    site = public / campaign / name
    with writing(site):
        site.mkdir(parents=True, exist_ok=True)
        with (site / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield site


def _copy(source: Path, target: Path, wanted: Mapping[str, str]) -> Copied:
    """Copy the files of `wanted`, sha256 by path, from `source` to `target`, all or none."""
    if target.exists():
        if revision.contents(target) != wanted:
            raise UserError("already published with other content, and never overwritten", target)
        return Copied(target, was_there=True)
    partial = partials.make(target.parents[1])
    try:
        for name in wanted:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, partial / name, follow_symlinks=False)
        if revision.contents(partial) != wanted:
            raise UserError("changed while it was copied", source)
        partial.chmod(0o755)
        target.parent.mkdir(exist_ok=True)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Copied(target, was_there=False)


def _digest(file: Path) -> str:
    return hashlib.sha256(files.read_bytes(file)).hexdigest()
