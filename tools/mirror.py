"""``python -m tools.mirror FOLDER``: fills a source mirror of Spack from Debian and from git.

For machines that reach neither the sites of the authors nor the mirror of Spack.  Its content is
declared in a TOML file next to the recipes that have the checksums (`Sources`).

apt checks the signature of the index and the checksum.  Archives of a commit are identical on all
machines, so that a recipe can hold their checksum.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import typer
from pydantic import Field, StringConstraints, model_validator
from typer import Argument, Option

from roundtrip import paths, tables
from roundtrip.cli import run_for_exit_status
from roundtrip.cli.setup import print_findings
from roundtrip.errors import UserError, report_write_errors
from roundtrip.model import StrictRecord
from roundtrip.sites import software
from roundtrip.sites.programs import cached_sha256
from roundtrip.sites.site import Finding, FindingVerdict, last_line
from roundtrip.sites.toolchains.spec import has_apt
from roundtrip.sites.toolchains.store import AptClient, BuildError
from roundtrip.tables import TextList

#: The sources of the shipped recipes, below the checkout.
SHIPPED_SOURCES = Path("spack_repo") / "testbed" / "sources.toml"
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_URL_PATTERN = re.compile(r"^(https?|ssh|git|file)://")
#: Settings of the user must not change the output of git.
_GIT_ENVIRONMENT = {
    **{"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"},
    "GIT_TERMINAL_PROMPT": "0",
}
_GIT_OPTIONS = ("-c", "tar.umask=0002", "-c", "core.autocrlf=false", "-c", "safe.directory=*")


class UnavailableError(Exception):
    """A source cannot be had from where it is declared to be; the message is one line."""


class GitSource(StrictRecord):
    """A commit of `repository` as a tar archive, or with `patch` as a patch, of this checksum.

    `paths` are git pathspecs of what is in the archive, all by default; `prefix` is a folder that
    it is put below.  With `spack`, a spec whose recipe clones the commit itself, Spack makes it.
    """

    repository: str
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    sha256: Sha256 | None = None
    patch: bool = False
    paths: TextList = ()
    prefix: str = ""
    spack: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]")] | None = None

    @model_validator(mode="after")
    def _require_sha256_or_spack(self) -> Self:
        if (self.sha256 is None) == (self.spack is None):
            raise ValueError("either `sha256`, or `spack` with the spec that clones this commit")
        return self


def write_git_archive(source: GitSource, clone_or_url: str, folder: Path) -> Path:
    """Write the archive or patch of `source`, from a local clone or an address, to the new
    `folder`; return its path.  UnavailableError if git fails."""
    folder.mkdir(parents=True)
    clone = Path(clone_or_url)
    if _URL_PATTERN.match(clone_or_url):
        clone = folder / "clone"
        _run_git(folder, "init", "--quiet", "--bare", str(clone))
        _run_git(clone, "fetch", "--quiet", "--depth=2", "--", clone_or_url, source.commit)
    elif not clone.is_dir():
        raise UnavailableError(f"{clone_or_url}: no such clone")
    target = folder / ("source.patch" if source.patch else "source.tar")
    if source.patch:
        form = ["format-patch", "-1", "--full-index", "--no-signature", "--stdout", source.commit]
    else:
        options = ["--format=tar", f"--prefix={source.prefix}"]
        form = ["archive", *options, source.commit, "--", *source.paths]
    with target.open("wb") as stream:
        _run_git(clone, *form, stdout=stream.fileno())
    return target


def mirror_by_spack(spec: str, repository: str, clone: str | None, folder: Path) -> None:
    """Let Spack add `spec` to the mirror `folder`.  UnavailableError if it cannot.

    Spack clones from `clone`, if there is one, instead of `repository`.

    Without an environment: a concretized one has `spec` once for each MPI, which is ambiguous.
    """
    spack = software.find_spack()
    if not spack:
        raise UnavailableError(f"`spack mirror create` makes {spec}: set SPACK_ROOT")
    environment: Mapping[str, str] = {}
    if clone:
        address = clone if _URL_PATTERN.match(clone) else Path(clone).resolve().as_uri()
        environment = {
            **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{address}.insteadOf"},
            "GIT_CONFIG_VALUE_0": repository,
        }
    with tempfile.TemporaryDirectory() as settings:
        recipes = paths.checkout() / "spack_repo" / "roundtrip"
        # JSON is YAML.
        Path(settings, "repos.yaml").write_text(json.dumps({"repos": {"roundtrip": str(recipes)}}))
        process = subprocess.run(
            [spack.command, "-E", "-C", settings, "mirror", "create", "-d", folder, spec],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
    output = process.stdout + process.stderr
    if process.returncode or re.search(r"^\s*[1-9]\d*\s+failed to fetch", output, re.MULTILINE):
        faults = [line for line in output.splitlines() if "Error" in line] or ["not fetched"]
        raise UnavailableError(f"spack mirror create {spec}: {faults[-1].strip()}")


def _run_git(folder: Path, *arguments: str, stdout: int = subprocess.PIPE) -> None:
    process = subprocess.run(
        ["git", *_GIT_OPTIONS, *arguments],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **_GIT_ENVIRONMENT},
    )
    if process.returncode:
        line = last_line(process.stderr.decode(errors="replace"))
        raise UnavailableError(f"git {arguments[0]}: {line}")


#: The field of `apt-cache showsrc` with a line `checksum bytes file` for each file.
_CHECKSUMS_PATTERN = re.compile(r"^Checksums-Sha256:\n((?: .+\n)+)", re.MULTILINE)
_VERSION_PATTERN = re.compile(r"^Version: (\S+)$", re.MULTILINE)


class Apt:
    """Downloads source packages by apt, and writes to `folder` only; `suites` of Debian are
    searched besides those of this machine.  UnavailableError without apt."""

    def __init__(self, folder: Path, suites: Collection[str]) -> None:
        if not has_apt():
            raise UnavailableError(
                "no apt-get here: on another machine, take the recipe's own address"
            )
        folder.mkdir(parents=True, exist_ok=True)
        self._archive = AptClient(folder, folder / "log", suites, only_sources=True)

    def download(self, package: str, sha256: str) -> Path:
        """Download the archive with this checksum; UnavailableError if apt does not have it."""
        # Not `apt-get source --print-uris`, which lists the newest version only.
        answer, _ = self._run_apt("apt-cache", "showsrc", "--only-source", package)
        if not _VERSION_PATTERN.search(answer):
            raise UnavailableError(f"apt knows no source package {package}")
        archives: list[str] = []
        for record in re.split(r"\n{2,}", answer):
            version = _VERSION_PATTERN.search(record)
            sums = _CHECKSUMS_PATTERN.search(f"{record}\n")
            files = [line.split() for line in sums[1].splitlines()] if sums else []
            if version and (matches := [name for sum_, _, name in files if sum_ == sha256]):
                options = ["--only-source", "--download-only", "--tar-only"]
                _, folder = self._run_apt("apt-get", "source", *options, f"{package}={version[1]}")
                return folder / matches[0]
            archives += [name for _, _, name in files if ".orig" in name]
        raise UnavailableError(
            f"apt has another version of source package {package} "
            f"({', '.join(sorted(archives)) or 'no archive'}) than the recipe's, {sha256[:12]}..."
        )

    def _run_apt(self, program: str, *arguments: str) -> tuple[str, Path]:
        try:
            return self._archive.run_apt(program, "src", program, *arguments)
        except BuildError as error:
            lines = [line for line in error.output.splitlines() if line.startswith("E:")]
            raise UnavailableError(f"{error.message}: {(lines or ['failed'])[0]}") from None


class DebianSource(StrictRecord):
    """The archive with this checksum, of Debian's source package `package`; `suite` is the release
    of Debian that has it, on a machine of another one."""

    package: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
    sha256: Sha256
    suite: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")] | None = None


class Sources(StrictRecord):
    """The sources of a mirror, by the names that the user gave them."""

    debian: dict[str, DebianSource] = Field(default_factory=dict)
    git: dict[str, GitSource] = Field(default_factory=dict)


@dataclass(frozen=True)
class FillResult:
    """The result for one source: its verdict, a sentence, and the size of the file in bytes."""

    name: str
    verdict: FindingVerdict
    detail: str
    size: int = 0


def read_sources(files: Sequence[Path]) -> Sources:
    """The sources of all `files`; later entries override.  UserError with file and line."""
    debian: dict[str, DebianSource] = {}
    git: dict[str, GitSource] = {}
    for file in files:
        data, key_lines = tables.read_toml(file)
        sources = tables.validate_table(data, Sources, key_lines, file)
        debian |= sources.debian
        git |= sources.git
    return Sources(debian=debian, git=git)


def archive_path(folder: Path, sha256: str, suffix: str) -> Path:
    """Return the path at which Spack looks in the mirror `folder` for this checksum."""
    return folder / "_source-cache" / "archive" / sha256[:2] / f"{sha256}{suffix}"


def fill_mirror(folder: Path, sources: Sources, clones: Mapping[str, str]) -> Iterator[FillResult]:
    """Add the sources that `folder` lacks, one after the other; yield the result of each.

    `clones` has, by name, the clone or address to use instead of the declared repository.
    UserError for a name that is not declared, or a folder that cannot be written.
    """
    for name in clones:
        if name not in sources.git:
            legal = ", ".join(sources.git) or "none"
            raise UserError(f"--git {name}=...: no such git source; there are: {legal}")
    folder = folder.resolve()  # apt takes relative paths as below /etc/apt
    with report_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".filling-") as temporary:
            yield from _fill_from_debian(folder, sources.debian, Path(temporary))
            for name, source in sources.git.items():
                yield _fill_from_git(folder, name, source, clones.get(name), Path(temporary))


def _fill_from_debian(
    folder: Path, sources: Mapping[str, DebianSource], temporary: Path
) -> Iterator[FillResult]:
    apt: Apt | None = None
    suites = sorted({source.suite for source in sources.values() if source.suite})
    for name, source in sources.items():
        if mirror_copy := _find_mirror_copy(folder, source.sha256):
            yield FillResult(name, "ok", "there already", mirror_copy.stat().st_size)
            continue
        try:
            apt = apt or Apt(temporary / "apt", suites)
            archive = apt.download(source.package, source.sha256)
        except UnavailableError as error:
            yield FillResult(name, "fault", str(error))
            continue
        yield _copy_to_mirror(folder, name, archive, source.sha256, f"Debian's {archive.name}")


def _fill_from_git(
    folder: Path, name: str, source: GitSource, clone: str | None, temporary: Path
) -> FillResult:
    if source.sha256 and (mirror_copy := _find_mirror_copy(folder, source.sha256)):
        return FillResult(name, "ok", "there already", mirror_copy.stat().st_size)
    try:
        if source.spack:
            mirror_by_spack(source.spack, source.repository, clone, folder)
            return FillResult(name, "ok", f"{source.spack}, by `spack mirror create`")
        archive = write_git_archive(source, clone or source.repository, temporary / name)
    except UnavailableError as error:
        return FillResult(name, "fault", str(error))
    return _copy_to_mirror(
        folder, name, archive, source.sha256 or "", f"commit {source.commit[:12]}"
    )


def _find_mirror_copy(folder: Path, sha256: str) -> Path | None:
    """Return the archive with this checksum in the mirror; None without an intact one."""
    candidates = sorted(archive_path(folder, sha256, "").parent.glob(f"{sha256}*"))
    return candidates[0] if candidates and cached_sha256(candidates[0]) == sha256 else None


def _copy_to_mirror(folder: Path, name: str, archive: Path, sha256: str, origin: str) -> FillResult:
    if (checksum := cached_sha256(archive)) != sha256:
        reason = f"{origin} has sha256 {checksum}, and the recipe wants {sha256}"
        return FillResult(name, "fault", reason)
    # ``.tar.xz`` of ``mpich_4.0.2.orig.tar.xz``; none of a patch, as Spack does.
    stem, tar, compression = archive.name.rpartition(".tar")
    target = archive_path(folder, sha256, f"{tar}{compression}" if stem else "")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}")
    shutil.copyfile(archive, partial)
    partial.replace(target)
    return FillResult(name, "ok", origin, target.stat().st_size)


app = typer.Typer(add_completion=False)


@app.command()
def main(
    folder: Path = Argument(help="The mirror; it is made if there is none."),
    sources: list[Path] | None = Option(
        None, help="A file of sources besides the shipped one; later entries override."
    ),
    git: list[str] | None = Option(
        None, help="NAME=CLONE: a clone or address instead of the declared repository."
    ),
) -> None:
    """Fill a source mirror of Spack from Debian's source packages and git repositories.

    For machines that do not reach the authors' sites.  What is there already is kept.
    Exit status: 0 all is there; 1 something is not; 2 bad input.
    """
    clones: dict[str, str] = {}
    for text in git or ():
        name, equals, clone_or_url = text.partition("=")
        if not equals or not clone_or_url:
            raise UserError(f"--git {text}: say NAME=CLONE")
        clones[name] = clone_or_url
    files = [paths.checkout() / SHIPPED_SOURCES, *(sources or ())]
    status, size = 0, 0
    for item in fill_mirror(folder, read_sources(files), clones):
        detail = item.detail + (f", {item.size / 1e6:.1f} MB" if item.size else "")
        status = max(status, print_findings([Finding(item.verdict, item.name, detail)]))
        size += item.size
    add = f"spack mirror add sources {folder.resolve().as_uri()}"
    typer.echo(f"\n{folder}: {size / 1e6:.0f} MB; `{add}`")
    raise typer.Exit(status)


if __name__ == "__main__":
    sys.exit(run_for_exit_status(lambda: app(standalone_mode=False)))
