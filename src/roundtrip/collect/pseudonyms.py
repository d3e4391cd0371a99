"""Replaces the names of hosts by pseudonyms, alone and in messages.

Other words stay as they are, even those that could be host names, such as `open` or `mpi`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable

_KEYWORD = r"\b(?:on|from|nodes?|hosts?|hostname)[\"']?(?:\s*[=:]\s*|\s+)[\"'(]?"
#: A pseudonym.  Older bundles count: node1, node2, ..., other hosts in each bundle.
STABLE = r"node-[0-9a-f]{8}"


class Pseudonyms:
    """``node-3fa2c1d9`` for the name of a host: always the same with the same `key`.

    It is the beginning of the HMAC-SHA256 of the name, in small letters and without its domain.
    """

    def __init__(self, names: Iterable[str], key: bytes) -> None:
        spelled = {name.casefold(): name for name in sorted(names) if name.strip(".")}
        spelled.pop("localhost", None)
        self._names: dict[str, str] = {}
        self._key = key
        for host in sorted(spelled):
            short = host.split(".")[0]
            if not short or short.isdecimal():  # the first number of an address identifies nothing
                short = host
            self._names[host] = self._names[short] = f"node-{self._told(short)}"
        hosts = sorted({*self._names, *spelled.values()}, key=lambda host: (-len(host), host))
        # A name with a dot, or with letters and digits, is a host wherever it is.  A name of
        # letters may be English, and is a host only where one is expected.  A number never is.
        alone = _any_of(host for host in hosts if not host.isalpha() and not host.isdecimal())
        words = _any_of(host for host in hosts if host.isalpha())
        self._anywhere = _pattern(rf"(?P<before>(?<![\w.-]))(?P<host>{alone})(?![\w-])")
        self._expected = _pattern(
            rf"(?P<before>{_KEYWORD}|@)(?P<host>{words})(?![\w-])",
            rf"(?P<before>(?:^|[:;] )\[?)(?P<host>{words})(?=:)",
        )

    def of(self, host: str) -> str:
        """The pseudonym of `host`; an unknown name is returned as it is."""
        return self._names.get(host.casefold(), host)

    def of_switch(self, name: str) -> str:
        """The pseudonym of a switch, ``switch-5b0e77aa``, made as that of a host."""
        return f"switch-{self._told(name)}"

    def _told(self, name: str) -> str:
        told = hmac.digest(self._key, name.encode(errors="surrogateescape"), hashlib.sha256)
        return told.hex()[:8]

    def digest(self, value: str) -> str:
        """64 hex digits that tell two private values apart, and that need the key."""
        content = f"private\0{value}".encode(errors="surrogateescape")
        return hmac.digest(self._key, content, hashlib.sha256).hex()

    def message(self, text: str) -> str:
        """A message of a program, with host names replaced."""
        for pattern in (*self._anywhere, *self._expected):
            text = pattern.sub(self._replace, text)
        return text

    def _replace(self, found: re.Match[str]) -> str:
        return found["before"] + self.of(found["host"])


def _any_of(hosts: Iterable[str]) -> str:
    return "|".join(re.escape(host) for host in hosts) or r"(?!)"  # which matches nothing


def _pattern(*alternatives: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.IGNORECASE) for text in alternatives)
