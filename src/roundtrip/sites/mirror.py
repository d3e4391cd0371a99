"""Fills a source mirror of Spack from Debian's source packages and from git repositories.

For machines that reach neither the authors' sites nor Spack's own mirror.  What goes into it is
declared in a TOML file beside the recipes that have the checksums (`Sources`).
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from roundtrip import tables
from roundtrip.errors import UserError, writing
from roundtrip.model import Table
from roundtrip.sites import mirror_debian, mirror_git
from roundtrip.sites.findings import Verdict
from roundtrip.sites.mirror_git import NotThereError

#: What the mirror of this checkout holds unless a file is named.
SHIPPED = Path("spack_repo") / "testbed" / "sources.toml"
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Debian(Table):
    """The archive with this checksum, of Debian's source package `package`.

    `suite` names the release of Debian that has it, on a machine of another one.
    """

    package: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
    sha256: Sha256
    suite: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")] | None = None


class Sources(Table):
    """What a mirror is made of, by a name of one's own."""

    debian: dict[str, Debian] = Field(default_factory=dict)
    git: dict[str, mirror_git.Git] = Field(default_factory=dict)


@dataclass(frozen=True)
class Filled:
    """What became of one source: `verdict` as in `Finding`, `size` in bytes."""

    name: str
    verdict: Verdict
    detail: str
    size: int = 0


def read(files: Sequence[Path]) -> Sources:
    """The sources of all `files`; of one name, the last counts.  UserError with file and line."""
    debian: dict[str, Debian] = {}
    git: dict[str, mirror_git.Git] = {}
    for file in files:
        data, places = tables.read(file)
        one = tables.validate(data, Sources, places, file)
        debian |= one.debian
        git |= one.git
    return Sources(debian=debian, git=git)


def place(folder: Path, sha256: str, suffix: str) -> Path:
    """Where Spack looks in the mirror `folder` for the archive with this checksum."""
    return folder / "_source-cache" / "archive" / sha256[:2] / f"{sha256}{suffix}"


def fill(folder: Path, sources: Sources, clones: Mapping[str, str]) -> Iterator[Filled]:
    """Bring what `folder` lacks, one source after the other.

    `clones` says, by name, which clone or address to take instead of the declared repository.
    UserError for a name that is not declared, or a folder that cannot be written.
    """
    for name in clones:
        if name not in sources.git:
            legal = ", ".join(sources.git) or "none"
            raise UserError(f"--git {name}=...: no such git source; there are: {legal}")
    folder = folder.resolve()  # apt takes relative paths as below /etc/apt
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".filling-") as temporary:
            yield from _debian(folder, sources.debian, Path(temporary))
            for name, one in sources.git.items():
                yield _git(folder, name, one, clones.get(name), Path(temporary))


def _debian(folder: Path, wanted: Mapping[str, Debian], temporary: Path) -> Iterator[Filled]:
    apt: mirror_debian.Apt | None = None
    suites = sorted({one.suite for one in wanted.values() if one.suite})
    for name, one in wanted.items():
        if held := _held(folder, one.sha256):
            yield Filled(name, "ok", "there already", held.stat().st_size)
            continue
        try:
            apt = apt or mirror_debian.Apt(temporary / "apt", suites)
            archive = apt.download(one.package, one.sha256)
        except NotThereError as error:
            yield Filled(name, "fault", str(error))
            continue
        yield _keep(folder, name, archive, one.sha256, f"Debian's {archive.name}")


def _git(
    folder: Path, name: str, one: mirror_git.Git, clone: str | None, temporary: Path
) -> Filled:
    if one.sha256 and (held := _held(folder, one.sha256)):
        return Filled(name, "ok", "there already", held.stat().st_size)
    try:
        if one.spack:
            mirror_git.by_spack(one.spack, one.repository, clone, folder)
            return Filled(name, "ok", f"{one.spack}, by `spack mirror create`")
        archive = mirror_git.archive(one, clone or one.repository, temporary / name)
    except NotThereError as error:
        return Filled(name, "fault", str(error))
    return _keep(folder, name, archive, one.sha256 or "", f"commit {one.commit[:12]}")


def _held(folder: Path, sha256: str) -> Path | None:
    """The archive with this checksum in the mirror; a broken one does not count."""
    found = sorted(place(folder, sha256, "").parent.glob(f"{sha256}*"))
    return found[0] if found and _sum(found[0]) == sha256 else None


def _keep(folder: Path, name: str, archive: Path, sha256: str, what: str) -> Filled:
    if (found := _sum(archive)) != sha256:
        return Filled(name, "fault", f"{what} has sha256 {found}, and the recipe wants {sha256}")
    target = place(folder, sha256, _suffix(archive.name))
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}")
    shutil.copyfile(archive, partial)
    partial.replace(target)
    return Filled(name, "ok", what, target.stat().st_size)


def _suffix(name: str) -> str:
    """``.tar.xz`` of ``mpich_4.0.2.orig.tar.xz``; nothing of a patch, as Spack has it."""
    before, tar, after = name.rpartition(".tar")
    return f"{tar}{after}" if before else ""


def _sum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
