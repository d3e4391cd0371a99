"""The folder of published reports: its layout, and how a report is added to it.

``<reports>/<campaign>/<site>/`` has a folder for each night, named by the UTC date of its start;
``<date>.2``, ``<date>.3`` are further nights of that date.  A night has the revisions r1, r2, ...,
none of which is ever overwritten: the page and its files, a copy of the bundle, and report.json
with the sha256 of every other file.  Beside the nights are imports, ``imported/<digest>/``, and
files that are derived from all of these.

Other modules do not join paths below a folder of reports: they call functions of this module.  Here
a `site` is the folder of a campaign on a site, a `night` or `revision` is a folder, too.
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
from roundtrip.errors import UserError, report_write_errors
from roundtrip.measure import manifest
from roundtrip.measure.manifest import Manifest

#: Files of a revision; FACTS has its identity and, under ``files``, the sha256 of all others.
FACTS_FILE, PAGE_FILE, WARNINGS_FILE = "report.json", "report.html", "warnings.txt"
SUMMARY_FILE, MARKDOWN_FILE = "summary.md", "report.md"
#: File in the bundle of a search for a cause, which is no night.
SEARCH_FILE = "search.json"
#: File of an import with its identity.
IMPORT_SOURCE_FILE = "source.json"
_BUNDLE_FOLDER, _IMPORTS_FOLDER = "bundle", "imported"
_NUMBER_PATTERN = r"[1-9][0-9]{0,8}"
_NIGHT_FOLDER_PATTERN = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:\.({_NUMBER_PATTERN}))?")


def site_folder(reports: Path, campaign: str, site: str) -> Path:
    """The folder of a campaign on a site."""
    return reports / campaign / site


def site_folders(reports: Path, campaign: str | None = None, site: str | None = None) -> list[Path]:
    """The folders of all campaigns on all sites, or of one of them, sorted."""
    pattern = "/".join("*" if name is None else escape(name) for name in (campaign, site))
    return sorted(path for path in reports.glob(pattern) if path.is_dir())


def split_site_folder(site: Path) -> tuple[Path, str, str]:
    """Split ``<reports>/<campaign>/<site>`` into folder of the reports, campaign and site."""
    return site.parents[1], site.parent.name, site.name


def search_name(campaign: str) -> str:
    """The campaign name of published searches for the cause of a step of `campaign`."""
    return f"blame-{campaign}"[:100]


def night_folders(site: Path) -> list[Path]:
    """The nights of a campaign on a site, oldest first; symbolic links are none."""
    if not site.is_dir():
        return []
    names = [(_NIGHT_FOLDER_PATTERN.fullmatch(path.name), path) for path in site.iterdir()]
    dated_paths = [(name[1], int(name[2] or 1), path) for name, path in names if name]
    return [path for _, _, path in sorted(dated_paths) if path.is_dir() and not path.is_symlink()]


def night_date(folder: Path) -> str:
    """The date, YYYY-MM-DD, of a night's folder."""
    return folder.name.split(".")[0]


def night_folder(site: Path, day: str, is_free: bool = False) -> Path:
    """The folder of the first night of a date; with `is_free`, of the first without a revision."""
    names = {night.name for night in night_folders(site) if is_free and revisions(night)}
    candidates = chain([day], (f"{day}.{n}" for n in count(2)))
    return site / next(name for name in candidates if name not in names)


def revisions(folder: Path) -> list[Path]:
    """Published revisions in the folder of a night, oldest first."""
    numbered_paths = [(n, path) for path in folder.glob("r*") if (n := revision_number(path.name))]
    return [path for _, path in sorted(numbered_paths)]


def all_revisions(site: Path) -> list[Path]:
    """Published revisions of all nights of a campaign on a site, oldest night first."""
    return [path for night in night_folders(site) for path in revisions(night)]


def revision_number(name: str) -> int | None:
    """The number N of a revision's folder name ``r<N>``; None for any other name."""
    match = re.fullmatch(rf"r({_NUMBER_PATTERN})", name)
    return int(match[1]) if match else None


def campaign_site_date(revision: Path) -> tuple[str, str, str] | None:
    """Return campaign, site and date of a revision's path; None if it is in no night's folder."""
    night = revision.absolute().parent
    if not _NIGHT_FOLDER_PATTERN.fullmatch(night.name):
        return None
    _, campaign, site = split_site_folder(night.parent)
    return campaign, site, night_date(night)


def find_by_name(reports: Path, name: str) -> Path | None:
    """The night ``SITE/CAMPAIGN/DATE`` or its revision ``.../rN``; None for another name."""
    match = re.fullmatch(r"([^/]+)/([^/]+)/(\d{4}-\d\d-\d\d[^/]*)(?:/(r\d+))?/?", name)
    return reports.joinpath(*filter(None, match.group(2, 1, 3, 4))) if match else None


def revisions_and_imports(path: Path) -> set[Path]:
    """The revisions and imports at or below `path`; UserError if it is a circle of links."""
    try:
        folder = (path.parent if path.name == PAGE_FILE else path).resolve()
    except RuntimeError:
        raise UserError("its symbolic links lead in a circle", path) from None
    folders = {
        mark.parent for name in (FACTS_FILE, IMPORT_SOURCE_FILE) for mark in folder.rglob(name)
    }
    return {
        path for path in folders if is_import_folder(path) or revision_number(path.name) is not None
    }


def file_path(folder: Path, name: str) -> Path:
    """The path of file `name` in a revision, an import or a folder of reports."""
    return folder / name


def bundle_folder(revision: Path) -> Path:
    """The folder of the bundle of a revision, to read; it may be missing."""
    return revision / _BUNDLE_FOLDER


def bundle_file_path(name: str) -> str:
    """The path, relative to a revision, of the file `name` of its bundle."""
    return f"{_BUNDLE_FOLDER}/{name}"


def find_bundle(path: Path) -> Path | None:
    """The bundle's folder: `path` itself, or that in the revision `path`; None if there is none."""
    folders = (path, bundle_folder(path))
    return next((folder for folder in folders if (folder / manifest.MANIFEST_FILE).is_file()), None)


def revision_name(bundle: Path) -> str:
    """``DATE/rN`` of the revision that contains this bundle's folder; "" if none does."""
    revision = bundle.parent
    return (
        f"{revision.parent.name}/{revision.name}"
        if revision_number(revision.name) is not None
        else ""
    )


def is_search_bundle(bundle: Path) -> bool:
    """Whether a bundle is that of a search for a cause, which is no night."""
    has_samples = (bundle / manifest.table_file("samples")).exists()
    return (bundle / SEARCH_FILE).is_file() and not has_samples


def folder_stamp(folder: Path) -> str:
    """A digest of names, modes, sizes and times of all files below `folder`; "" without it.  It
    shows changes without reading the files."""
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
    """The content of a revision's report.json; None if it cannot be read."""
    try:
        facts = files.read_json(revision / FACTS_FILE)
    except UserError:
        return None
    return facts if isinstance(facts, dict) else None


def facts_json(facts: Mapping[str, Any]) -> str:
    """The text of report.json with these facts."""
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def digest_by_path(folder: Path) -> dict[str, str]:
    """Return, by relative path, the sha256 of each file below `folder`; else its kind."""
    digests = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            content = files.sha256_of_file(path)
        elif not stat.S_ISDIR(mode):
            content = "neither a file nor a folder"
        elif any(path.iterdir()):
            continue
        else:
            content = "an empty folder"
        digests[path.relative_to(folder).as_posix()] = content
    return digests


@contextmanager
def hold_folder(folder: Path, lock: str = ".lock") -> Iterator[None]:
    """Hold the lock of `folder`, which is made if missing, while the block runs; wait for the lock.
    UserError if the system refuses something in the block."""
    with report_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / lock).open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def copy_bundle(source: Path, draft: Path, bundle_manifest: Manifest) -> Path:
    """Copy the files of a bundle into a draft, without verification; return their folder."""
    target = bundle_folder(draft)
    signature_files = [manifest.SIGNATURE_FILE] if "signer" in bundle_manifest.data else []
    for name in (*bundle_manifest.files, manifest.MANIFEST_FILE, *signature_files):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    return target


def add_revision(draft: Path, folder: Path, identity: Mapping[str, Any]) -> Path:
    """Write report.json with `identity` into a draft, and rename it to the next revision in
    the `folder` of a night; return its path.  The caller holds the lock of the site's folder."""
    facts = {**identity, "files": digest_by_path(draft)}
    (draft / FACTS_FILE).write_text(facts_json(facts), encoding="utf-8")
    numbers = [revision_number(path.name) or 0 for path in revisions(folder)]
    return _move_draft(draft, folder / f"r{1 + max(numbers, default=0)}")


def add_copy(source: Path, folder: Path, digests: Mapping[str, str]) -> tuple[Path, bool]:
    """Copy a revision or import into `folder` under its name, all of it or nothing; return its path
    and whether it was there already.

    `digests` are its files (sha256 by path).  UserError if other content of that name is there, or
    `source` changes meanwhile.
    """
    target = folder / source.name
    if target.exists():
        if digest_by_path(target) != digests:
            raise UserError("already published with other content, and never overwritten", target)
        return target, True
    with files.draft_folder(folder.parent) as draft:
        for name in digests:
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, draft / name, follow_symlinks=False)
        if digest_by_path(draft) != digests:
            raise UserError("changed while it was copied", source)
        return _move_draft(draft, target), False


def _move_draft(draft: Path, target: Path) -> Path:
    target.parent.mkdir(exist_ok=True)
    return draft.rename(target)


def imports_folder(site: Path) -> Path:
    """The folder of the imports of a campaign on a site; it may be missing."""
    return site / _IMPORTS_FOLDER


def import_folders(site: Path) -> list[Path]:
    """The imports of a campaign on a site, sorted by their digests."""
    return sorted(path for path in imports_folder(site).glob("*") if path.name[0] != ".")


def is_import_folder(folder: Path) -> bool:
    """Whether `folder` is an import, by its path."""
    return folder.parent.name == _IMPORTS_FOLDER


def add_import(draft: Path, site: Path, digest: str) -> Path:
    """Rename a draft to the import with this digest; return its path."""
    return _move_draft(draft, imports_folder(site) / digest)


def replace_derived_file(folder: Path, name: str, content: bytes) -> None:
    """Replace atomically a file that is derived from the reports below `folder`."""
    files.replace_file(folder / name, content)


def page_link(revision: Path, folder: Path) -> str:
    """The link to a revision's page from a page in `folder` above it; "" without a page."""
    page = revision / PAGE_FILE
    return page.relative_to(folder).as_posix() if page.is_file() else ""


def linked_revision(folder: Path, link: str) -> Path:
    """The revision whose page the relative `link` of a page in `folder` names."""
    return (folder / link).parent
