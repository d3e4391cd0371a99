"""Debian packages: which ones a purpose needs, and which versions are installed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence


def wanted(listing: str, purposes: Iterable[str]) -> list[str]:
    """Names of the packages in the sections `purposes` of an ``apt-packages.txt``."""
    section, names = "", []
    for line in listing.splitlines():
        word = line.split("#", 1)[0].strip()
        if header := re.fullmatch(r"\[(.+)\]", word):
            section = header[1]
        elif word and section in purposes:
            names.append(word)
    return names


def installed(names: Sequence[str]) -> dict[str, str] | None:
    """Versions, by name, of those of `names` that are installed; None where there is no dpkg."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n", *names]
    try:
        output = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    lines = [line.split() for line in output.splitlines()]
    return {
        name: version
        for status, name, version in (w for w in lines if len(w) == 3)
        if status == "installed"
    }
