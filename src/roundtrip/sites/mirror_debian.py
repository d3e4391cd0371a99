"""Source archives of Debian, by apt itself: it checks the signature of the index, and the sum.

The machine's own sources of apt are taken with `deb-src` for `deb`, into a folder of one's own:
nothing in /etc or /var changes, and no right is needed.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

from roundtrip.sites.mirror_git import NotThereError

#: The field of `apt-cache showsrc` with a line `checksum bytes file` for each file.
_SUMS = re.compile(r"^Checksums-Sha256:\n((?: .+\n)+)", re.MULTILINE)
_VERSION = re.compile(r"^Version: (\S+)$", re.MULTILINE)


class Apt:
    """apt-get with source packages, all that it writes in `folder`; NotThereError without apt.

    `suites` of Debian are asked too, by the same addresses and keys as that of this machine.
    """

    def __init__(self, folder: Path, suites: Collection[str] = ()) -> None:
        if not shutil.which("apt-get"):
            raise NotThereError(
                "no apt-get here: on another machine, take the recipe's own address"
            )
        parts = folder / "parts"
        for one in (parts, folder / "lists" / "partial", folder / "cache" / "archives" / "partial"):
            one.mkdir(parents=True)
        self._folder = folder / "sources"
        self._folder.mkdir()
        for number, file in enumerate(_configured()):
            text = _as_source(file.read_text(errors="replace"), file.suffix, suites)
            (parts / f"{number}-{file.name}").write_text(text)
        self._options = [
            *("-o", "Dir::Etc::SourceList=/dev/null"),
            *("-o", f"Dir::Etc::SourceParts={parts}"),
            *("-o", f"Dir::State::Lists={folder / 'lists'}"),
            *("-o", f"Dir::Cache={folder / 'cache'}"),
        ]
        self._said("apt-get", "update")

    def download(self, package: str, sha256: str) -> Path:
        """The archive of source package `package` with this checksum; else NotThereError."""
        # Not `apt-get source --print-uris`: that is the newest version only.
        said = self._said("apt-cache", "showsrc", "--only-source", package)
        if not said.strip():
            raise NotThereError(f"apt knows no source package {package}")
        offered: list[str] = []
        for one in re.split(r"\n{2,}", said):
            version, sums = _VERSION.search(one), _SUMS.search(f"{one}\n")
            files = [line.split() for line in sums[1].splitlines()] if sums else []
            if version and (held := [name for sum_, _, name in files if sum_ == sha256]):
                words = ["source", "--only-source", "--download-only", "--tar-only"]
                self._said("apt-get", *words, f"{package}={version[1]}")
                return self._folder / held[0]
            offered += [name for _, _, name in files if ".orig" in name]
        raise NotThereError(
            f"apt has another version of source package {package} "
            f"({', '.join(sorted(offered)) or 'no archive'}) than the recipe's, {sha256[:12]}..."
        )

    def _said(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [program, "--quiet", *self._options, *arguments],
            cwd=self._folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("E:")]
            raise NotThereError(f"{program} {' '.join(arguments)}: {(lines or ['failed'])[0]}")
        return done.stdout


def _configured() -> list[Path]:
    """The files that tell apt its sources."""
    asked = ["SINGLE", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
    said = subprocess.run(["apt-config", "shell", *asked], capture_output=True, text=True).stdout
    told = dict(re.findall(r"^(\w+)='([^']*)'$", said, re.MULTILINE))
    single, parts = Path(told.get("SINGLE", "")), Path(told.get("PARTS", ""))
    several = sorted([*parts.glob("*.list"), *parts.glob("*.sources")]) if told else []
    return [file for file in (single, *several) if file.is_file()]


def _as_source(text: str, suffix: str, suites: Collection[str] = ()) -> str:
    """`text` of a file of apt sources with `deb-src` for every `deb`, and once more for `suites`.

    An entry of the suite that this machine is of is what the others are made of.
    """
    own = re.escape(platform.freedesktop_os_release().get("VERSION_CODENAME") or "-")
    if suffix == ".sources":
        text = re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
        entries = re.split(r"\n(?:\s*\n)+", text.strip())
        named = re.compile(rf"^(Suites:)(?:.*\s)?{own}()(?:\s.*)?$", re.MULTILINE)
    else:
        lines = [line for line in text.splitlines() if re.match(r"deb\s", line)]
        entries = [re.sub(r"^deb\b", "deb-src", line) for line in lines]
        named = re.compile(rf"^(deb-src\s+(?:\[.*?\]\s+)?\S+)\s+{own}(\s.*)$")
    ours = [entry for entry in entries if named.search(entry)]
    more = [named.sub(rf"\1 {suite}\2", entry) for suite in suites for entry in ours]
    return "\n\n".join([*entries, *more]) + "\n"
