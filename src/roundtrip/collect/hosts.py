"""Facts about hosts in env/host.json, and their pseudonyms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError


def cores(file: Path) -> int | None:
    """Number of online processors of the host described in host.json; None if not told."""
    cpu = _read(file).get("cpu")
    logical = cpu.get("logical") if isinstance(cpu, dict) else None
    return logical if isinstance(logical, int) and logical > 0 else None


def names(file: Path) -> list[str]:
    """The host name written in host.json, if there is one."""
    name = _read(file).get("hostname")
    return [name] if isinstance(name, str) and name else []


def _read(file: Path) -> dict[str, Any]:
    try:
        data = files.read_json(file)
    except UserError:
        return {}
    return data if isinstance(data, dict) else {}


class Pseudonyms:
    """node1, node2, ... for host names, in order of the names: the same every time."""

    def __init__(self, names: Iterable[str]) -> None:
        real = sorted({name.lower() for name in names if name.lower() != "localhost"})
        self._names: dict[str, str] = {}
        for host in real:
            short = host.split(".")[0]
            known = self._names.get(short) or f"node{len(set(self._names.values())) + 1}"
            self._names[host] = self._names[short] = known
        longest_first = sorted(self._names, key=lambda host: (-len(host), host))
        body = "|".join(re.escape(host) for host in longest_first)
        self._pattern = re.compile(rf"(?<![\w.-])(?:{body})(?![\w-])", re.IGNORECASE)

    def of(self, host: str) -> str:
        """Pseudonym of one host name; unknown names stay."""
        return self._names.get(host.lower(), host)

    def scrub(self, text: str) -> str:
        """`text` with every host name replaced where it stands as a word."""
        if not self._names:
            return text
        return self._pattern.sub(lambda found: self._names[found[0].lower()], text)
