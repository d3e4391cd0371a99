"""Fetches Debian packages and their sources without changing the system's apt configuration.

A private apt folder offers what the machine's own sources offer, and their source packages too.
apt checks every file against the signed package lists.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from roundtrip.toolchains.process import run


def one_line_sources(text: str) -> str:
    """A ``sources.list`` with a ``deb-src`` line for every ``deb`` line, each once."""
    lines: dict[str, None] = {}
    for raw in text.splitlines():
        words = raw.split("#", 1)[0].split()
        if len(words) < 3 or words[0] not in ("deb", "deb-src") or words[1].startswith("cdrom:"):
            continue
        for kind in ("deb", "deb-src") if words[0] == "deb" else ("deb-src",):
            lines[" ".join([kind, *words[1:]])] = None
    return "".join(f"{line}\n" for line in lines)


def deb822_sources(text: str) -> str:
    """A deb822 ``.sources`` text whose stanzas of type ``deb`` offer ``deb-src`` as well."""
    return re.sub(
        r"^(Types:)[ \t]*(?=.*\bdeb\b(?!-)).*$",
        r"\1 deb deb-src",
        text,
        flags=re.MULTILINE | re.IGNORECASE,
    )


def derive_sources(etc: Path, private: Path) -> None:
    """Write into folder `private` what the apt folder `etc` configures, with source packages."""
    parts = etc / "sources.list.d"
    main = etc / "sources.list"
    for file in [main, *sorted(parts.glob("*.list"))]:
        if file.is_file():
            (private / file.name).write_text(one_line_sources(file.read_text()))
    for file in sorted(parts.glob("*.sources")):
        (private / file.name).write_text(deb822_sources(file.read_text()))


@dataclass(frozen=True)
class Archive:
    """Packages as this machine's sources offer them; `work` is an empty folder that it may fill."""

    work: Path
    log: Path
    etc: Path = Path("/etc/apt")

    @cached_property
    def _options(self) -> list[str]:
        folders = {name: self.work / name for name in ("sources.list.d", "lists", "cache")}
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        derive_sources(self.etc, folders["sources.list.d"])
        settings = {
            "Dir::Etc::SourceList": "/dev/null",
            "Dir::Etc::SourceParts": folders["sources.list.d"],
            "Dir::State::Lists": folders["lists"],
            "Dir::Cache": folders["cache"],
            "Acquire::Retries": 3,
            "Acquire::Languages": "none",
        }
        if os.geteuid() == 0:
            settings["APT::Sandbox::User"] = "root"  # user _apt may not enter this folder
        options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        run("updating package lists", ["apt-get", *options, "update"], self.log)
        return options

    def packages(self, names: list[str]) -> list[Path]:
        """Download binary packages and return their .deb files, in the order of `names`."""
        into = self.work / "deb"
        into.mkdir(parents=True, exist_ok=True)
        command = ["apt-get", *self._options, "download", *names]
        run(f"downloading {' '.join(names)}", command, self.log, cwd=into)
        return [next(into.glob(f"{name}_*.deb")) for name in names]

    def source(self, name: str) -> Path:
        """Download a source package and return its upstream tar file."""
        into = self.work / "src"
        into.mkdir(parents=True, exist_ok=True)
        command = ["apt-get", *self._options, "source", "--download-only", name]
        run(f"downloading the sources of {name}", command, self.log, cwd=into)
        return next(into.glob(f"{name}_*.orig.tar.*"))
