"""The manifest of a bundle: its files with checksums.  The digest of the manifest is the bundle's.

It is canonical JSON (sorted keys, no spaces, UTF-8), so that the same content has the same digest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import records
from roundtrip.model import (
    CHARACTER_PATTERN,
    DESCRIPTION_BY_PATTERN,
    Count,
    Host,
    IsoTime,
    Name,
    Record,
    Sha256,
    ShortText,
    StrictRecord,
    Text,
)

MANIFEST_FILE = "manifest.json"
#: The signature beside a manifest that names its signer.
SIGNATURE_FILE = f"{MANIFEST_FILE}.sig"
SCHEMA_VERSION = 2
#: Beginning of the paths of earlier nights, which a bundle contains besides its measurement.
HISTORY_PREFIX = "history/"


class _PreviousNight(Record):
    digest: Sha256
    started: Text


class _FileEntry(Record):
    bytes: Count
    sha256: Sha256


class _UnmeasuredNode(Record):
    node: Host
    state: ShortText
    reason: Text


class _GitState(Record):
    commit: str | None
    dirty: bool | None


#: A public key of ssh-keygen: kind, key, comment.
_PUBLIC_KEY_PATTERN = (
    rf"^[a-z0-9@.-]{{5,40}} [A-Za-z0-9+/]{{40,4000}}={{0,2}}( {CHARACTER_PATTERN}{{1,200}})?$"
)
DESCRIPTION_BY_PATTERN[_PUBLIC_KEY_PATTERN] = "a public key of ssh-keygen: kind, key, comment"


class _ManifestContent(StrictRecord):
    schema_: Literal[2] = Field(alias="schema")
    campaign: Name
    site: Name
    started: IsoTime
    finished: str | None
    git: _GitState
    tools: dict[str, str]
    files: Annotated[dict[str, _FileEntry], Field(min_length=1)]
    nodes_not_measured: list[_UnmeasuredNode] = Field(default_factory=list)
    before: _PreviousNight | None = None
    signer: Annotated[str, Field(pattern=_PUBLIC_KEY_PATTERN)] = ""


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest, and its sha256, which is the digest of the bundle."""

    data: dict[str, Any]
    digest: str

    @property
    def files(self) -> list[str]:
        """Sorted paths of the bundle's files, without the manifest."""
        return sorted(self.data["files"])

    @property
    def measurement_digest(self) -> str:
        """The sha256 of the manifest without earlier nights and signer."""
        entries = {n: e for n, e in self.data["files"].items() if not n.startswith(HISTORY_PREFIX)}
        facts = {key: self.data[key] for key in self.data.keys() - {"before", "signer"}}
        return files.sha256(_canonical_json({**facts, "files": entries}).encode())


def run_digests(data: Any) -> str:
    """Digests of samples.parquet and cases.parquet in a manifest's data, JSON: equal for all
    bundles of a run; "" if it lacks one of both files."""
    listing = data.get("files") if isinstance(data, dict) else None
    names = (table_file("samples"), table_file("cases"))
    entries = [listing.get(name) for name in names] if isinstance(listing, dict) else []
    return json.dumps(entries, sort_keys=True) if entries and all(entries) else ""


def table_file(name: str) -> str:
    """The path in a bundle of the table `name`, such as ``cases`` or ``details/<study>``."""
    return f"{name}.parquet"


def write_unsigned(bundle: Path, facts: dict[str, Any], signer: str | None = None) -> Manifest:
    """Hash every file in `bundle`, write its manifest with `facts`, and delete an old signature.
    `signer` is the public key of the signature that the caller adds."""
    (bundle / SIGNATURE_FILE).unlink(missing_ok=True)
    entries = {
        file.relative_to(bundle).as_posix(): _file_entry(file)
        for file in sorted(bundle.rglob("*"))
        if file.is_file() and file != bundle / MANIFEST_FILE
    }
    signer_entry = {"signer": signer} if signer else {}
    bundle_facts = {key: value for key, value in facts.items() if key not in ("files", "signer")}
    data = {"schema": SCHEMA_VERSION, **bundle_facts, **signer_entry, "files": entries}
    text = _canonical_json(data)
    (bundle / MANIFEST_FILE).write_bytes(text.encode())
    return Manifest(data, files.sha256(text.encode()))


def verify(bundle: Path) -> Manifest:
    """Compare every file of `bundle` with its manifest, and return the manifest; UserError if a
    file is missing, changed, not listed, or not inside the bundle."""
    file = bundle / MANIFEST_FILE
    text = files.read_text(file)
    data = records.parse_record(text, _ManifestContent, file)
    for name, entry in data["files"].items():
        if _file_entry(_require_inside(bundle, name, file)) != entry:
            raise UserError(f"{name} is not the file that the manifest lists", file)
    names = {*data["files"], MANIFEST_FILE, *([SIGNATURE_FILE] if "signer" in data else [])}
    for path in sorted(bundle.rglob("*")):
        name = path.relative_to(bundle).as_posix()
        if (path.is_symlink() or not path.is_dir()) and name not in names:
            raise UserError(f"{name} is not in the manifest", file)
    return Manifest(data, files.sha256(text.encode()))


def _canonical_json(data: dict[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def _require_inside(bundle: Path, name: str, manifest: Path) -> Path:
    """The path of the bundle's regular file `name`; UserError if it leads out of the bundle."""
    pure = PurePosixPath(name)
    is_plain = not pure.is_absolute() and ".." not in pure.parts and "\0" not in name
    if (
        not is_plain
        or pure.as_posix() != name
        or "\\" in name
        or name in (MANIFEST_FILE, SIGNATURE_FILE)
    ):
        raise UserError(f"path {name!r} is not inside the bundle", manifest)
    if len(name.encode()) > 200:  # bytes that every file system takes
        raise UserError(f"path {name[:40]!r}... is too long", manifest)
    path = bundle
    for part in pure.parts:
        path = path / part
        if path.is_symlink():
            raise UserError(f"path {name!r} is or leads through a symbolic link", manifest)
    if not path.is_file():
        raise UserError(f"{name} is missing", manifest)
    return path


def _file_entry(file: Path) -> dict[str, Any]:
    return {"bytes": file.stat().st_size, "sha256": files.sha256_of_file(file)}
