"""A published revision on disk: its identity, its contents, its damage."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roundtrip.collect import manifest
from roundtrip.history.published import BUNDLE, FACTS
from roundtrip.report.build import Correction


def identity(checked: manifest.Manifest, correction: Correction | None) -> dict[str, Any]:
    """The identity of a revision: its bundle and its correction.

    `measurement` is the digest of the bundle without the nights before it, where it holds some.
    """
    measured = checked.measurement
    return {
        "schema": 1,
        "digest": checked.digest,
        **({"measurement": measured} if measured != checked.digest else {}),
        "supersedes": correction.supersedes if correction else None,
        "reason": correction.reason if correction else None,
    }


def facts_text(facts: Mapping[str, Any]) -> str:
    """``report.json``: the identity, and under ``files`` the sha256 of every other file."""
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


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


def of_bundle(revision: Path, checked: manifest.Manifest) -> dict[str, str]:
    """`contents` of the copy of a bundle in its revision, from its manifest.

    A signature is taken as it lies there: nobody but the signer could make it again.
    """
    listed = {name: str(entry["sha256"]) for name, entry in checked.data["files"].items()}
    listed[manifest.FILE_NAME] = checked.digest
    if "signer" in checked.data:
        given = (revision / BUNDLE / manifest.SIGNATURE).read_bytes()
        listed[manifest.SIGNATURE] = hashlib.sha256(given).hexdigest()
    return {f"{BUNDLE}/{name}": digest for name, digest in listed.items()}


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Paths that only one has, or that differ, sorted."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def damage(revision: Path, facts: Mapping[str, Any]) -> list[str]:
    """Paths in a revision with these facts that are not as they were published.

    An older revision without digests of its files is compared with its manifest only; UserError if
    it does not match.
    """
    kept = facts.get("files")
    if not isinstance(kept, dict):
        manifest.verify(revision / BUNDLE)
        return []
    return differences(contents(revision), whole(facts))


def whole(facts: Mapping[str, Any]) -> dict[str, str]:
    """`contents` of a revision with these facts, which have digests of its files."""
    text = facts_text(facts)
    return {**facts["files"], FACTS: hashlib.sha256(text.encode()).hexdigest()}
