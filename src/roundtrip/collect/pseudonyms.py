"""Replaces the names of hosts by pseudonyms, in fields that hold a host and in messages.

Other words stay as they are, even those that could be host names, such as `open` or `mpi`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Any

from roundtrip.collect.hosts import FIELDS

#: Fields of JSON that hold a message of a program.
_MESSAGES = ("reason", "error", "finding", "message")
_KEYWORD = r"\b(?:on|from|nodes?|hosts?|hostname)[\"']?(?:\s*[=:]\s*|\s+)[\"'(]?"
_COMMENT = re.compile(r"#.*$", re.MULTILINE)
_HOSTNAMES = re.compile(r"(?<=hostnames)[\"']\s*:\s*\[[^\]]*\]")


#: Fields of JSON that hold the name of a switch.
_SWITCHES = ("switch",)
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
        self._account = _pattern(rf"(?P<before>@)(?P<host>{_any_of(hosts)})(?![\w-])")

    def of(self, host: str) -> str:
        """The pseudonym of `host`; an unknown name is returned as it is."""
        return self._names.get(host.casefold(), host)

    def of_switch(self, name: str) -> str:
        """The pseudonym of a switch, ``switch-5b0e77aa``, made as that of a host."""
        return f"switch-{self._told(name)}"

    def _told(self, name: str) -> str:
        told = hmac.digest(self._key, name.encode(errors="surrogateescape"), hashlib.sha256)
        return told.hex()[:8]

    def fields(self, data: Any) -> Any:
        """JSON data with the host names in fields and in messages replaced."""
        return self._value(data, "")

    def message(self, text: str) -> str:
        """A message of a program, with host names replaced."""
        for pattern in (*self._anywhere, *self._expected):
            text = pattern.sub(self._replace, text)
        return text

    def library(self, text: str) -> str:
        """A library's description of itself, with the host of a ``user@host`` replaced."""
        for pattern in self._account:
            text = pattern.sub(self._replace, text)
        return text

    def source(self, text: str) -> str:
        """A site's configuration, with hosts replaced in comments and in ``hostnames``."""
        text = _HOSTNAMES.sub(lambda found: self._words(found[0]), text)
        return _COMMENT.sub(lambda found: self.message(found[0]), text)

    def _words(self, text: str) -> str:
        return re.sub(r"[^\W_][\w-]*(?:\.[\w-]+)*", lambda found: self.of(found[0]), text)

    def _replace(self, found: re.Match[str]) -> str:
        return found["before"] + self.of(found["host"])

    def _value(self, data: Any, key: str) -> Any:
        if isinstance(data, dict):
            return {name: self._value(value, name) for name, value in data.items()}
        if isinstance(data, list):
            return [self._value(item, key) for item in data]
        if isinstance(data, str) and key in FIELDS:
            return self.of(data)
        if isinstance(data, str) and key in _SWITCHES:
            return self.of_switch(data)
        return self.message(data) if isinstance(data, str) and key in _MESSAGES else data


def _any_of(hosts: Iterable[str]) -> str:
    return "|".join(re.escape(host) for host in hosts) or r"(?!)"  # which matches nothing


def _pattern(*alternatives: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.IGNORECASE) for text in alternatives)
