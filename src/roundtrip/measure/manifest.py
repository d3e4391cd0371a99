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
    CHARACTER,
    WORDS,
    Count,
    Host,
    Label,
    Moment,
    Name,
    Record,
    Sha256,
    Table,
    Text,
)

FILE_NAME = "manifest.json"
#: The file of `signature` beside a manifest that names its signer.
SIGNATURE = f"{FILE_NAME}.sig"
SCHEMA = 2
#: The folder of earlier nights, which a bundle contains besides its own measurement.
HISTORY = "history/"


class _Before(Record):
    digest: Sha256
    started: Text


class _File(Record):
    bytes: Count
    sha256: Sha256


class _Unmeasured(Record):
    node: Host
    state: Label
    reason: Text


class _ManifestGit(Record):
    commit: str | None
    dirty: bool | None


#: A public key of ssh-keygen: kind, key, comment.
_KEY = rf"^[a-z0-9@.-]{{5,40}} [A-Za-z0-9+/]{{40,4000}}={{0,2}}( {CHARACTER}{{1,200}})?$"
WORDS[_KEY] = "a public key of ssh-keygen: kind, key, comment"


class _Content(Table):
    """manifest.json of a bundle."""

    schema_: Literal[2] = Field(alias="schema")
    campaign: Name
    site: Name
    started: Moment
    finished: str | None
    git: _ManifestGit
    tools: dict[str, str]
    files: Annotated[dict[str, _File], Field(min_length=1)]
    nodes_not_measured: list[_Unmeasured] = Field(default_factory=list)
    before: _Before | None = None
    signer: Annotated[str, Field(pattern=_KEY)] = ""


@dataclass(frozen=True)
class Manifest:
    """A manifest, and the digest of its bundle."""

    data: dict[str, Any]
    digest: str

    @property
    def files(self) -> list[str]:
        """Paths in the bundle, without the manifest."""
        return sorted(self.data["files"])

    @property
    def measurement(self) -> str:
        """The digest of the bundle without earlier nights and signer: that of the measurement."""
        entries = {n: e for n, e in self.data["files"].items() if not n.startswith(HISTORY)}
        facts = {key: self.data[key] for key in self.data.keys() - {"before", "signer"}}
        return files.sha256(_text({**facts, "files": entries}).encode())

    @property
    def measured_digests(self) -> str:
        """Digests of samples and launches: equal for bundles of one run, whatever their dates."""
        return measured_digests(self.data)


def measured_digests(data: Any) -> str:
    """Return the digests of samples and launches in a manifest's data; "" if it lacks one."""
    listing = data.get("files") if isinstance(data, dict) else None
    names = (table_file("samples"), table_file("cases"))
    entries = [listing.get(name) for name in names] if isinstance(listing, dict) else []
    return json.dumps(entries, sort_keys=True) if entries and all(entries) else ""


def table_file(name: str) -> str:
    """The path in a bundle of the table `name`: ``cases``, ``details/<study>``."""
    return f"{name}.parquet"


def write(bundle: Path, facts: dict[str, Any], signer: str | None = None) -> Manifest:
    """Hash every file in `bundle` and write its manifest with `facts`, which may name a schema.  An
    old signature is removed; `signer` is the public key of the next one."""
    (bundle / SIGNATURE).unlink(missing_ok=True)
    entries = {
        file.relative_to(bundle).as_posix(): _entry(file)
        for file in sorted(bundle.rglob("*"))
        if file.is_file() and file != bundle / FILE_NAME
    }
    signer_entry = {"signer": signer} if signer else {}
    bundle_facts = {key: value for key, value in facts.items() if key not in ("files", "signer")}
    data = {"schema": SCHEMA, **bundle_facts, **signer_entry, "files": entries}
    text = _text(data)
    (bundle / FILE_NAME).write_bytes(text.encode())
    return Manifest(data, files.sha256(text.encode()))


def verify(bundle: Path) -> Manifest:
    """Compare every file of `bundle` with its manifest, and return the manifest; UserError if a
    file is missing, changed, not listed, or not inside the bundle."""
    file = bundle / FILE_NAME
    text = files.read_text(file)
    data = records.validate(files.parse_json(text, file), _Content, file, text)
    for name, entry in data["files"].items():
        if _entry(_inside(bundle, name, file)) != entry:
            raise UserError(f"{name} is not the file that the manifest lists", file)
    names = {*data["files"], FILE_NAME, *([SIGNATURE] if "signer" in data else [])}
    for path in sorted(bundle.rglob("*")):
        name = path.relative_to(bundle).as_posix()
        if (path.is_symlink() or not path.is_dir()) and name not in names:
            raise UserError(f"{name} is not in the manifest", file)
    return Manifest(data, files.sha256(text.encode()))


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def _inside(bundle: Path, name: str, manifest: Path) -> Path:
    """The regular file `name` of the bundle; UserError for `..`, `/` or a symbolic link in it."""
    pure = PurePosixPath(name)
    is_plain = not pure.is_absolute() and ".." not in pure.parts and "\0" not in name
    if not is_plain or pure.as_posix() != name or "\\" in name or name in (FILE_NAME, SIGNATURE):
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


def _entry(file: Path) -> dict[str, Any]:
    return {"bytes": file.stat().st_size, "sha256": files.sha256_of(file)}
