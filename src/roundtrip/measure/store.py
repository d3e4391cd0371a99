"""Published reports: where they are, what they consist of, and how one is added.

``<reports>/<campaign>/<site>/`` has a folder for each night, named by the UTC date of its start;
``<date>.2``, ``<date>.3`` are further nights of that date.  A night has the revisions r1, r2, ...,
none of which is ever overwritten: the page and its files, a copy of the bundle, and report.json
with the sha256 of every other file.  Beside the nights are imports, ``imported/<digest>/``, and
files that are derived from all of these.

No other module joins paths below a folder of reports.  It asks this one, and a path that it gets is
a name for this one, or that of a file or folder to read.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from itertools import chain, count
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError, writing
from roundtrip.measure import manifest
from roundtrip.measure.manifest import Manifest

#: Files of a revision; FACTS has its identity and, under ``files``, the sha256 of all others.
FACTS, PAGE, WARNINGS = "report.json", "report.html", "warnings.txt"
SUMMARY, MARKDOWN = "summary.md", "report.md"
#: File in the bundle of a search for a cause, which is no night.
SEARCH = "search.json"
#: File of an import with its identity.
SOURCE = "source.json"
_BUNDLE, _IMPORTS = "bundle", "imported"
_NUMBER = r"[1-9][0-9]{0,8}"
_NIGHT = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:\.({_NUMBER}))?")


def site_folder(reports: Path, campaign: str, site: str) -> Path:
    """The folder of a campaign on a site."""
    return reports / campaign / site


def site_folders(reports: Path, campaign: str | None = None, site: str | None = None) -> list[Path]:
    """The folders of all campaigns on all sites, or of one of them, sorted."""
    pattern = "/".join("*" if name is None else escape(name) for name in (campaign, site))
    return sorted(path for path in reports.glob(pattern) if path.is_dir())


def parts(site: Path) -> tuple[Path, str, str]:
    """The folder of the reports, the campaign and the site of a folder of a campaign on a site."""
    return site.parents[1], site.parent.name, site.name


def search_name(campaign: str) -> str:
    """The name of the searches for causes of a campaign's steps: a campaign of its own."""
    return f"blame-{campaign}"[:100]


def nights(site: Path) -> list[Path]:
    """Folders of nights of a campaign on a site, oldest date first, without symbolic links."""
    if not site.is_dir():
        return []
    names = [(_NIGHT.fullmatch(path.name), path) for path in site.iterdir()]
    dated_paths = [(name[1], int(name[2] or 1), path) for name, path in names if name]
    return [path for _, _, path in sorted(dated_paths) if path.is_dir() and not path.is_symlink()]


def date(night: Path) -> str:
    """The date in the name of a night's folder."""
    return night.name.split(".")[0]


def night(site: Path, day: str, is_free: bool = False) -> Path:
    """The folder of the first night of a date; with `is_free`, of the first without a revision."""
    names = {night.name for night in nights(site) if is_free and revisions(night)}
    candidates = chain([day], (f"{day}.{n}" for n in count(2)))
    return site / next(name for name in candidates if name not in names)


def revisions(night: Path) -> list[Path]:
    """Published revisions of a night, oldest first."""
    numbered_paths = [(n, path) for path in night.glob("r*") if (n := number(path.name))]
    return [path for _, path in sorted(numbered_paths)]


def all_revisions(site: Path) -> list[Path]:
    """Published revisions of all nights of a campaign on a site, oldest night first."""
    return [path for night in nights(site) for path in revisions(night)]


def number(name: str) -> int | None:
    """N of ``r<N>``; None for any other name."""
    match = re.fullmatch(rf"r({_NUMBER})", name)
    return int(match[1]) if match else None


def place(revision: Path) -> tuple[str, str, str] | None:
    """Campaign, site and date of a revision by its folders; None if it is in no night's folder."""
    night = revision.absolute().parent
    if not _NIGHT.fullmatch(night.name):
        return None
    _, campaign, site = parts(night.parent)
    return campaign, site, date(night)


def named(reports: Path, words: str) -> Path | None:
    """What ``SITE/CAMPAIGN/DATE`` or ``SITE/CAMPAIGN/DATE/rN`` names; None for other words."""
    match = re.fullmatch(r"([^/]+)/([^/]+)/(\d{4}-\d\d-\d\d[^/]*)(?:/(r\d+))?/?", words)
    return reports.joinpath(*filter(None, match.group(2, 1, 3, 4))) if match else None


def find(place: Path) -> set[Path]:
    """The revisions and imports at or below `place`; UserError if it is a circle of links."""
    try:
        folder = (place.parent if place.name == PAGE else place).resolve()
    except RuntimeError:
        raise UserError("its symbolic links lead in a circle", place) from None
    folders = {mark.parent for name in (FACTS, SOURCE) for mark in folder.rglob(name)}
    return {path for path in folders if is_import(path) or number(path.name) is not None}


def file(folder: Path, name: str) -> Path:
    """A file, which may be missing, of a revision or import, or derived from those in a folder."""
    return folder / name


def bundle(revision: Path) -> Path:
    """The folder of the bundle of a revision, to read; it may be missing."""
    return revision / _BUNDLE


def in_bundle(name: str) -> str:
    """The path in a revision of the file `name` of its bundle."""
    return f"{_BUNDLE}/{name}"


def bundle_at(path: Path) -> Path | None:
    """The folder of a bundle: `path` itself, or the one of revision `path`; None if neither is."""
    folders = (path, bundle(path))
    return next((folder for folder in folders if (folder / manifest.FILE_NAME).is_file()), None)


def label(bundle: Path) -> str:
    """``DATE/rN`` of the revision that the folder of a bundle is in; "" if it is in none."""
    revision = bundle.parent
    return f"{revision.parent.name}/{revision.name}" if number(revision.name) is not None else ""


def is_search(bundle: Path) -> bool:
    """Whether a bundle is that of a search for a cause, which is no night."""
    has_samples = (bundle / manifest.table_file("samples")).exists()
    return (bundle / SEARCH).is_file() and not has_samples


def stamp(folder: Path) -> str:
    """A digest of names, sizes and times of the files of a bundle, or of all imports, which changes
    when they do; "" without such a folder."""
    if not folder.is_dir():
        return ""
    entries = sorted(_stamps(folder, ""))
    return files.sha256("\n".join(entries).encode(errors="surrogateescape"))


def _stamps(folder: Path, prefix: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            yield f"{prefix}{entry.name} {status.st_mode} {status.st_size} {status.st_mtime_ns}"
            if entry.is_dir(follow_symlinks=False):
                yield from _stamps(Path(entry.path), f"{prefix}{entry.name}/")


def read_facts(revision: Path) -> dict[str, Any] | None:
    """The facts of a revision; None if they cannot be read."""
    try:
        facts = files.read_json(revision / FACTS)
    except UserError:
        return None
    return facts if isinstance(facts, dict) else None


def facts_text(facts: Mapping[str, Any]) -> str:
    """The text of report.json."""
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def contents(folder: Path) -> dict[str, str]:
    """The content of `folder` by path: sha256 of a regular file, a description of anything else."""
    digests = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            content = files.sha256_of(path)
        elif not stat.S_ISDIR(mode):
            content = "neither a file nor a folder"
        elif any(path.iterdir()):
            continue
        else:
            content = "an empty folder"
        digests[path.relative_to(folder).as_posix()] = content
    return digests


@contextmanager
def changing(folder: Path, lock: str = ".lock") -> Iterator[None]:
    """Make the folder of the reports, or of a campaign on a site, and hold its lock in the block,
    after waiting for it.  UserError if the system refuses something in the block."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / lock).open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def copy_bundle(source: Path, draft: Path, bundle_manifest: Manifest) -> Path:
    """Copy what the manifest of a bundle lists into a draft; return the folder of the copy.

    Digests are not verified.
    """
    target = bundle(draft)
    signature_files = [manifest.SIGNATURE] if "signer" in bundle_manifest.data else []
    for name in (*bundle_manifest.files, manifest.FILE_NAME, *signature_files):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    return target


def add_revision(draft: Path, night: Path, identity: Mapping[str, Any]) -> Path:
    """Add a draft with report.json as the next revision of a night, whose site is being changed;
    nobody sees a part of it."""
    facts = {**identity, "files": contents(draft)}
    (draft / FACTS).write_text(facts_text(facts), encoding="utf-8")
    numbers = [number(path.name) or 0 for path in revisions(night)]
    return _add(draft, night / f"r{1 + max(numbers, default=0)}")


def add_copy(source: Path, folder: Path, digests: Mapping[str, str]) -> tuple[Path, bool]:
    """Copy a revision or import of another site to `folder`, under its name; all of it or nothing.

    `digests` (sha256 by path) are its files, `folder` is a night or that of imports.  Also return
    whether it was there already.  UserError if another of that name is there, or if `source`
    changes meanwhile.
    """
    target = folder / source.name
    if target.exists():
        if contents(target) != digests:
            raise UserError("already published with other content, and never overwritten", target)
        return target, True
    with files.draft(folder.parent) as draft:
        for name in digests:
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, draft / name, follow_symlinks=False)
        if contents(draft) != digests:
            raise UserError("changed while it was copied", source)
        return _add(draft, target), False


def _add(draft: Path, target: Path) -> Path:
    target.parent.mkdir(exist_ok=True)
    return draft.rename(target)


def imports_folder(site: Path) -> Path:
    """The folder of the imports of a campaign on a site; it may be missing."""
    return site / _IMPORTS


def imports(site: Path) -> list[Path]:
    """The imports of a campaign on a site, sorted by their digests."""
    return sorted(path for path in imports_folder(site).glob("*") if path.name[0] != ".")


def is_import(folder: Path) -> bool:
    """Whether the folder is that of an import."""
    return folder.parent.name == _IMPORTS


def add_import(draft: Path, site: Path, digest: str) -> Path:
    """Add a draft as the import with a digest; nobody sees a part of it."""
    return _add(draft, imports_folder(site) / digest)


def replace_derived(folder: Path, name: str, content: bytes) -> None:
    """Replace atomically a file that is derived from the reports below `folder`."""
    files.replace(folder / name, content)


def link(revision: Path, folder: Path) -> str:
    """The link to the page of a revision from a page in a folder above it; "" without a page."""
    page = revision / PAGE
    return page.relative_to(folder).as_posix() if page.is_file() else ""


def linked(folder: Path, link: str) -> Path:
    """The revision of a report to which the relative `link` of a page in `folder` points."""
    return (folder / link).parent
