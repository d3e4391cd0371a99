"""Names of hosts: their fields in JSON, their pseudonyms, and the hosts of known pseudonyms.

A pseudonym derives from the key of the site, a file with mode 0400 that goes into no bundle, report
or message: nobody can guess the name, and it is the same every night.  Only a holder of the key can
compute the pseudonyms of all names that are known at the site, and so identify a host.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files, paths
from roundtrip.errors import UserError, printable, refusal, writing
from roundtrip.sites import schedulers

#: Fields of JSON that hold the name of a host, or a list of names.
HOST_FIELDS = ("host", "hosts", "hostname")


def host_names(data: Any) -> Iterator[str]:
    """Yield each host name in the fields `HOST_FIELDS` of JSON data, at any depth."""
    if isinstance(data, dict):
        for key, value in data.items():
            values = value if isinstance(value, list) else [value]
            if key in HOST_FIELDS:
                yield from (item for item in values if isinstance(item, str))
            yield from host_names(value)
    elif isinstance(data, list):
        for item in data:
            yield from host_names(item)


_HOST_KEYWORD_PATTERN = r"\b(?:on|from|nodes?|hosts?|hostname)[\"']?(?:\s*[=:]\s*|\s+)[\"'(]?"
#: A pseudonym.  Older bundles have node1, node2, ..., which are other hosts in each bundle.
PSEUDONYM = r"node-[0-9a-f]{8}"


class Pseudonyms:
    """Pseudonyms of hosts, such as ``node-3fa2c1d9``: the first digits of the HMAC-SHA256, with
    `key`, of the name in lower case, without its domain."""

    def __init__(self, names: Iterable[str], key: bytes) -> None:
        spellings = {name.casefold(): name for name in sorted(names) if name.strip(".")}
        spellings.pop("localhost", None)
        self._names: dict[str, str] = {}
        self._key = key
        for host in sorted(spellings):
            short_name = host.split(".")[0]
            # The first number of an address identifies nothing.
            if not short_name or short_name.isdecimal():
                short_name = host
            self._names[host] = self._names[short_name] = f"node-{self._hmac(short_name)[:8]}"
        hosts = sorted({*self._names, *spellings.values()}, key=lambda host: (-len(host), host))
        # Names with a dot, or with letters and digits, are hosts anywhere.  Names of letters may be
        # English words, and are hosts only where one is expected.  Numbers are never hosts.
        mixed_names = _alternatives(
            host for host in hosts if not host.isalpha() and not host.isdecimal()
        )
        words = _alternatives(host for host in hosts if host.isalpha())
        patterns = (
            rf"(?P<before>(?<![\w.-]))(?P<host>{mixed_names})(?![\w-])",
            rf"(?P<before>{_HOST_KEYWORD_PATTERN}|@)(?P<host>{words})(?![\w-])",
            rf"(?P<before>(?:^|[:;] )\[?)(?P<host>{words})(?=:)",
        )
        self._patterns = tuple(re.compile(text, re.IGNORECASE) for text in patterns)

    def pseudonym(self, host: str) -> str:
        """The pseudonym of `host`; an unknown name is returned as it is."""
        return self._names.get(host.casefold(), host)

    def switch_pseudonym(self, name: str) -> str:
        """The pseudonym of a switch, ``switch-5b0e77aa``, computed as that of a host."""
        return f"switch-{self._hmac(name)[:8]}"

    def digest(self, value: str) -> str:
        """Return 64 hex digits that identify a private value and depend on the key."""
        return self._hmac(f"private\0{value}")

    def _hmac(self, text: str) -> str:
        content = text.encode(errors="surrogateescape")
        return hmac.digest(self._key, content, hashlib.sha256).hex()

    def message(self, text: str) -> str:
        """Return a message of a program with host names replaced."""
        for pattern in self._patterns:
            text = pattern.sub(lambda m: m["before"] + self.pseudonym(m["host"]), text)
        return text


def _alternatives(hosts: Iterable[str]) -> str:
    return "|".join(re.escape(host) for host in hosts) or r"(?!)"  # which matches nothing


KEY_VARIABLE = "ROUNDTRIP_SITE_KEY"
#: Bytes of a new key, and limits of the bytes of any key.
_NEW, _FEWEST, _MOST_KEY = 32, 16, 4096


def site_key(site: str) -> bytes:
    """Return the key of `site` from the file in ``ROUNDTRIP_SITE_KEY``, else the user's own.

    The user's own, ``sites/<site>.key`` in `paths.state`, is created at its first use.
    UserError for a file that others can read, that cannot be read, or that is no key.
    """
    if path := os.environ.get(KEY_VARIABLE):
        return _read_key(Path(path))
    file = site_key_file(site)
    if not file.exists():
        _make_key(file)
    return _read_key(file)


def site_key_file(site: str) -> Path:
    """Return the path of the user's own key of `site`, which may not exist."""
    return paths.state() / "sites" / f"{site}.key"


def proof(site: str, *parts: bytes) -> str:
    """Return the HMAC-SHA256 of `parts` with the key of `site`, hex; "" if no key is available.  It
    proves that the writer of a derived file could read the key."""
    try:
        key = site_key(site)
    except UserError:
        return ""
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return hmac.digest(key, b"derived\0" + digests, hashlib.sha256).hex()


def _read_key(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise UserError("no regular file: a site's key is one", file)
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UserError("others can use this key of a site: `chmod 0400` it", file)
            key = stream.read(_MOST_KEY + 1).strip()
    except FileNotFoundError:
        why = f"missing: {KEY_VARIABLE} names it; put the key of the site there, with mode 0400"
        raise UserError(why, file) from None
    except OSError as error:
        raise refusal(error, file) from None
    if not _FEWEST <= len(key) <= _MOST_KEY:
        raise UserError(f"no key of a site: right are {_FEWEST} to {_MOST_KEY} bytes", file)
    return key


def _make_key(file: Path) -> None:
    """Create a key; if another process creates one at the same time, its key stays."""
    with writing(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".key-", dir=file.parent)
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(_NEW) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(0o400)
            with contextlib.suppress(FileExistsError):
                os.link(name, file)
        finally:
            Path(name).unlink()


@dataclass(frozen=True)
class HostNames:
    """Hosts by pseudonym; `has_key` says whether the key of the site is available."""

    by_pseudonym: dict[str, str]
    has_key: bool

    def insert_names(self, text: str) -> str:
        """Return `text` with ``HOST (node-3fa2c1d9)`` for each pseudonym of a known host."""

        def named(match: re.Match[str]) -> str:
            host = self.by_pseudonym.get(match[0])
            return f"{printable(host)} ({match[0]})" if host else match[0]

        return re.sub(rf"(?<![\w-]){PSEUDONYM}(?![\w-])", named, text)


def known_hosts(site: str, runs: Path) -> HostNames:
    """Return the known hosts of `site`, also of the newest run trees of its campaigns below `runs`;
    none without the site's key.  UserError for a key that cannot be used."""
    if not os.environ.get(KEY_VARIABLE) and not site_key_file(site).exists():
        return HostNames({}, has_key=False)
    key, names = site_key(site), {*schedulers.here().node_names()}
    for folder in sorted(runs.glob(f"*/{site}")):
        for tree in sorted(path for path in folder.iterdir() if path.is_dir())[-16:]:
            for name in ("nodes.json", "pairs.json", "host.json"):
                names |= {*host_names(files.read_object_in_tree(tree / "env" / name, tree))}
    pseudonyms = Pseudonyms(names, key)
    return HostNames({pseudonyms.pseudonym(name): name for name in sorted(names)}, has_key=True)
