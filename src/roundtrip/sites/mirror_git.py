"""Archives of a commit, byte for byte the same wherever they are made, so that a recipe can hold
their checksum; and what Spack itself clones, out of a clone that is at hand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import StringConstraints, model_validator

from roundtrip import paths
from roundtrip.model import Table
from roundtrip.sites import spack
from roundtrip.tables import Strings

_URL = re.compile(r"^(https?|ssh|git|file)://")
#: Nobody's own settings may change what git writes.
_NEUTRAL = {
    **{"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"},
    "GIT_TERMINAL_PROMPT": "0",
}
_ALWAYS = ("-c", "tar.umask=0002", "-c", "core.autocrlf=false", "-c", "safe.directory=*")


class NotThereError(Exception):
    """Why a source cannot be had from where it was looked for, in one line."""


class Git(Table):
    """A commit of `repository` as a tar archive, or with `patch` as a patch, of this checksum.

    `paths` are git pathspecs of what is in the archive, all by default; `prefix` is a folder that
    it is put below.  With `spack`, a spec whose recipe clones the commit itself, Spack makes it.
    """

    repository: str
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    patch: bool = False
    paths: Strings = ()
    prefix: str = ""
    spack: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]")] | None = None

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.sha256 is None) == (self.spack is None):
            raise ValueError("either `sha256`, or `spack` with the spec that clones this commit")
        return self


def archive(one: Git, place: str, folder: Path) -> Path:
    """Write the archive or patch of `one` to `folder`; `place` is a clone, or an address."""
    folder.mkdir(parents=True)
    clone = Path(place)
    if _URL.match(place):
        clone = folder / "clone"
        _git(folder, "init", "--quiet", "--bare", str(clone))
        _git(clone, "fetch", "--quiet", "--depth=2", "--", place, one.commit)
    elif not clone.is_dir():
        raise NotThereError(f"{place}: no such clone")
    target = folder / ("source.patch" if one.patch else "source.tar")
    if one.patch:
        form = ["format-patch", "-1", "--full-index", "--no-signature", "--stdout", one.commit]
    else:
        form = ["archive", "--format=tar", f"--prefix={one.prefix}", one.commit, "--", *one.paths]
    with target.open("wb") as stream:
        _git(clone, *form, into=stream.fileno())
    return target


def by_spack(spec: str, repository: str, clone: str | None, folder: Path) -> None:
    """Let Spack add `spec` to the mirror `folder`, cloned from `clone` instead of `repository`.

    In no environment: one that is concretized has `spec` once for each MPI, and Spack asks which.
    """
    found = spack.find()
    if not found:
        raise NotThereError(f"`spack mirror create` makes {spec}: set SPACK_ROOT")
    environment: Mapping[str, str] = {}
    if clone:
        address = clone if _URL.match(clone) else Path(clone).resolve().as_uri()
        environment = {
            **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{address}.insteadOf"},
            "GIT_CONFIG_VALUE_0": repository,
        }
    with tempfile.TemporaryDirectory() as settings:
        recipes = paths.checkout() / "spack_repo" / "roundtrip"
        # JSON is YAML.
        Path(settings, "repos.yaml").write_text(json.dumps({"repos": {"roundtrip": str(recipes)}}))
        done = subprocess.run(
            [found.command, "-E", "-C", settings, "mirror", "create", "-d", folder, spec],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
    said = done.stdout + done.stderr
    if done.returncode or re.search(r"^\s*[1-9]\d*\s+failed to fetch", said, re.MULTILINE):
        faults = [line for line in said.splitlines() if "Error" in line]
        raise NotThereError(
            f"spack mirror create {spec}: {(faults or ['not fetched'])[-1].strip()}"
        )


def _git(folder: Path, *arguments: str, into: int = subprocess.PIPE) -> None:
    done = subprocess.run(
        ["git", *_ALWAYS, *arguments],
        cwd=folder,
        stdout=into,
        stderr=subprocess.PIPE,
        env={**os.environ, **_NEUTRAL},
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["failed"]
        raise NotThereError(f"git {arguments[0]}: {lines[-1]}")
