"""The published revisions of a campaign on a site that count as nights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import manifest, store


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
        """The folder of its bundle, to read."""
        return store.bundle(self.path)


def measurement(facts: dict[str, Any] | None) -> str | None:
    """The digest of the measurement, by the facts of a revision; None if it is missing."""
    digest = facts and facts.get("measurement", facts.get("digest"))
    return digest if isinstance(digest, str) else None


def current_revisions(site: Path) -> tuple[list[Revision], list[str]]:
    """Revisions that no later one supersedes, oldest first; and a warning for each damaged one.

    A revision is damaged where reading it raises a UserError.
    """
    latest_revisions, warnings = [], []
    for night in store.nights(site):
        night_revisions = []
        for path in store.revisions(night):
            if store.is_search(store.bundle(path)):
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
    facts = store.read_facts(path)
    if path.is_symlink() or facts is None:
        raise UserError("not a published report")
    digest, supersedes = facts.get("digest"), facts.get("supersedes")
    listing = files.read_in_tree(store.bundle(path) / manifest.FILE_NAME, path)
    if files.sha256(listing) != digest:
        raise UserError(f"its bundle is not the one that {store.FACTS} names")
    if supersedes is not None:
        revision_number, earlier_number = store.number(path.name), store.number(str(supersedes))
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
    all_facts = map(store.read_facts, store.all_revisions(site))
    return {str(facts.get("digest")) for facts in all_facts if facts}


def without_folder(path: Path, error: UserError) -> str:
    """The text of an error without the folder, which the message already names."""
    return str(error).replace(f"{path}/", "")
