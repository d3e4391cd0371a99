"""Published revisions of a campaign on a site, and which of them count as nights.

Below ``<reports>/<campaign>/<site>/`` each night has a folder, named by the UTC date of its start;
``<date>.2``, ``<date>.3`` are further nights of that date.  It contains the revisions r1, r2, ...
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import manifest

FACTS = "report.json"
BUNDLE = "bundle"
#: File in the bundle of a search for a cause, which is no night.
SEARCH = "search.json"
_NAME = re.compile(r"r([1-9][0-9]{0,8})")
_NIGHT = re.compile(r"(\d{4}-\d\d-\d\d)(?:\.([1-9][0-9]{0,8}))?")


@dataclass(frozen=True)
class Revision:
    """A revision with a readable report.json; `digest` is that of the manifest of its bundle."""

    path: Path
    digest: str
    supersedes: str | None
    #: From its manifest: samples (equal in re-dated copies), start, and the night before.
    samples: str = ""
    started: str = ""
    before: tuple[str, str] | None = None

    @property
    def bundle(self) -> Path:
        return self.path / BUNDLE

    def stamp(self) -> str:
        """A digest of names, sizes and times of the bundle's files; it changes when they do."""
        return stamp(self.bundle)


def stamp(folder: Path) -> str:
    """A digest of names, sizes and times of the files in `folder`; it changes when they do.

    "" without such a folder.
    """
    if not folder.is_dir():
        return ""
    entries = sorted(_stamps(folder, ""))
    return hashlib.sha256("\n".join(entries).encode(errors="surrogateescape")).hexdigest()


def number(name: str) -> int | None:
    """N of ``r<N>``; None for any other name."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def revisions(folder: Path) -> list[Path]:
    """Published revisions of a night, oldest first."""
    numbered_paths = [(count, path) for path in folder.glob("r*") if (count := number(path.name))]
    return [path for _, path in sorted(numbered_paths)]


def nights(site: Path) -> list[Path]:
    """Folders of nights of a campaign on a site, oldest date first, without symbolic links."""
    if not site.is_dir():
        return []
    names = [(_NIGHT.fullmatch(path.name), path) for path in site.iterdir()]
    dated_paths = [(name[1], int(name[2] or 1), path) for name, path in names if name]
    return [path for _, _, path in sorted(dated_paths) if path.is_dir() and not path.is_symlink()]


def is_night(name: str) -> bool:
    """Whether a folder of this name is the folder of a night."""
    return _NIGHT.fullmatch(name) is not None


def date(night: Path) -> str:
    """The date in the name of a night's folder."""
    return night.name.split(".")[0]


def read_facts(revision: Path) -> dict[str, Any] | None:
    """The facts of a revision; None if they cannot be read."""
    try:
        facts = files.read_json(revision / FACTS)
    except UserError:
        return None
    return facts if isinstance(facts, dict) else None


def measurement(facts: dict[str, Any] | None) -> str | None:
    """The digest of the measurement, by the facts of a revision; None if it is missing."""
    digest = facts and facts.get("measurement", facts.get("digest"))
    return digest if isinstance(digest, str) else None


def is_search(bundle: Path) -> bool:
    """Whether a bundle is that of a search for a cause, which is no night."""
    return (bundle / SEARCH).is_file() and not (bundle / "samples.parquet").exists()


def current_revisions(site: Path) -> tuple[list[Revision], list[str]]:
    """Revisions that no later one supersedes, oldest first; and a warning for each damaged one.

    A revision is damaged where reading it raises a UserError.
    """
    latest_revisions, warnings = [], []
    for night in nights(site):
        night_revisions = []
        for path in revisions(night):
            if is_search(path / BUNDLE):
                continue
            try:
                night_revisions.append(_read(path))
            except UserError as error:
                warnings.append(f"{path}: {without_folder(path, error)}")
        superseded_names = {revision.supersedes for revision in night_revisions}
        latest_revisions += [
            revision for revision in night_revisions if revision.path.name not in superseded_names
        ]
    return latest_revisions, warnings


def _read(path: Path) -> Revision:
    facts = read_facts(path)
    if path.is_symlink() or facts is None:
        raise UserError("not a published report")
    digest, supersedes = facts.get("digest"), facts.get("supersedes")
    listing = files.read_in_tree(path / BUNDLE / manifest.FILE_NAME, path)
    if hashlib.sha256(listing).hexdigest() != digest:
        raise UserError(f"its bundle is not the one that {FACTS} names")
    if supersedes is not None:
        revision_number, earlier_number = number(path.name), number(str(supersedes))
        if not revision_number or not earlier_number or earlier_number >= revision_number:
            raise UserError(f"supersedes {str(supersedes)[:20]!a}, which is no earlier revision")
    return Revision(path, str(digest), supersedes, *_from_manifest(listing))


def _from_manifest(listing: bytes) -> tuple[str, str, tuple[str, str] | None]:
    """`samples`, `started` and `before` of a revision; the reader of its bundle checks them."""
    try:
        data = files.parse_json(listing.decode())
    except (UserError, UnicodeDecodeError):
        return "", "", None
    if not isinstance(data, dict):
        return "", "", None
    before, started = data.get("before"), str(data.get("started"))
    if not isinstance(before, dict):
        return manifest.samples(data), started, None
    link = str(before.get("digest")), str(before.get("started"))
    return manifest.samples(data), started, link


def all_digests(site: Path) -> set[str]:
    """The digests of the bundles of all revisions, including superseded ones."""
    all_facts = (read_facts(path) for night in nights(site) for path in revisions(night))
    return {str(facts.get("digest")) for facts in all_facts if facts}


def without_folder(path: Path, error: UserError) -> str:
    """The text of an error without the folder, which the message already names."""
    return str(error).replace(f"{path}/", "")


def _stamps(folder: Path, prefix: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            stat = entry.stat(follow_symlinks=False)
            yield f"{prefix}{entry.name} {stat.st_mode} {stat.st_size} {stat.st_mtime_ns}"
            if entry.is_dir(follow_symlinks=False):
                yield from _stamps(Path(entry.path), f"{prefix}{entry.name}/")
