"""A published revision on disk: its identity, its contents, its damage."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.collect import manifest
from roundtrip.errors import UserError
from roundtrip.report.build import Correction

FACTS = "report.json"
BUNDLE = "bundle"
_NAME = re.compile(r"r([1-9][0-9]*)")


def number(name: str) -> int | None:
    """N of ``r<N>``; None for any other name."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def revisions(folder: Path) -> list[Path]:
    """Published revisions of a date, oldest first."""
    found = [(count, path) for path in folder.glob("r*") if (count := number(path.name))]
    return [path for _, path in sorted(found)]


def identity(checked: manifest.Manifest, correction: Correction | None) -> dict[str, Any]:
    """The identity of a revision: its bundle and its correction; no two revisions share it."""
    return {
        "schema": 1,
        "digest": checked.digest,
        "supersedes": correction.supersedes if correction else None,
        "reason": correction.reason if correction else None,
    }


def facts_text(facts: Mapping[str, Any]) -> str:
    """``report.json``: the identity, and under ``files`` the sha256 of every other file."""
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def read_facts(revision: Path) -> dict[str, Any] | None:
    """The facts of a revision; None if there are none that can be read."""
    try:
        facts = files.read_json(revision / FACTS)
    except UserError:
        return None
    return facts if isinstance(facts, dict) else None


def contents(folder: Path) -> dict[str, str]:
    """Everything below `folder` by path: the sha256 of a regular file, else what it is in words."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(place, name)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                with path.open("rb") as stream:
                    told = hashlib.file_digest(stream, "sha256").hexdigest()
            elif not stat.S_ISDIR(mode):
                told = "neither a file nor a folder"
            elif any(path.iterdir()):
                continue
            else:
                told = "an empty folder"
            found[path.relative_to(folder).as_posix()] = told
    return found


def of_bundle(checked: manifest.Manifest) -> dict[str, str]:
    """`contents` of the copy of a bundle in its revision, from its manifest."""
    listed = {name: str(entry["sha256"]) for name, entry in checked.data["files"].items()}
    listed[manifest.FILE_NAME] = checked.digest
    return {f"{BUNDLE}/{name}": digest for name, digest in listed.items()}


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Paths that only one has, or that differ, sorted."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def damage(revision: Path, wanted: Mapping[str, Any]) -> list[str] | None:
    """None if the revision has another identity than `wanted`; else the paths that were changed.

    An older revision without digests of its files is compared with its manifest only; UserError if
    it does not match.
    """
    facts = read_facts(revision)
    if facts is None:
        listing = revision / BUNDLE / manifest.FILE_NAME
        is_ours = listing.is_file() and (
            hashlib.sha256(listing.read_bytes()).hexdigest() == wanted["digest"]
        )
        return [FACTS] if is_ours else None
    if {key: facts.get(key) for key in wanted} != wanted:
        return None
    kept = facts.get("files")
    if not isinstance(kept, dict):
        manifest.verify(revision / BUNDLE)
        return []
    found = contents(revision)
    text = facts_text(facts)
    return differences(found, {**kept, FACTS: hashlib.sha256(text.encode()).hexdigest()})
