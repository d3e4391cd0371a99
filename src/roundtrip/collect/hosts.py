"""Facts about hosts in env/host.json, and their pseudonyms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def cores(file: Path) -> int | None:
    """Number of online processing units of the host described in host.json; None if not told."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for key in ("online_cpus", "logical_cpus", "cpus", "cpu_count", "cores"):
        value = _find(data, key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def names(file: Path) -> list[str]:
    """Host names written in host.json."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    found = [_find(data, key) for key in ("hostname", "host", "node", "fqdn", "nodename")]
    return [value for value in found if isinstance(value, str) and value]


def _find(data: Any, key: str) -> Any:
    """The value of the first `key`, depth first; None if there is none."""
    if isinstance(data, dict):
        if key in data and not isinstance(data[key], dict):
            return data[key]
        for value in data.values():
            if (found := _find(value, key)) is not None:
                return found
    return None


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
