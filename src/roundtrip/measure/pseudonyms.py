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
from roundtrip.errors import UserError, printable, report_write_errors, user_error_from_os
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
PSEUDONYM_PATTERN = r"node-[0-9a-f]{8}"


class Pseudonyms:
    """Pseudonyms of the hosts `names`, such as ``node-3fa2c1d9``: the first digits of the
    HMAC-SHA256, with `key`, of the name in lower case, without its domain."""

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
        mixed_names = _alternation_pattern(
            host for host in hosts if not host.isalpha() and not host.isdecimal()
        )
        words = _alternation_pattern(host for host in hosts if host.isalpha())
        patterns = (
            rf"(?P<before>(?<![\w.-]))(?P<host>{mixed_names})(?![\w-])",
            rf"(?P<before>{_HOST_KEYWORD_PATTERN}|@)(?P<host>{words})(?![\w-])",
            rf"(?P<before>(?:^|[:;] )\[?)(?P<host>{words})(?=:)",
        )
        self._patterns = tuple(re.compile(text, re.IGNORECASE) for text in patterns)

    def pseudonym(self, host: str) -> str:
        """The pseudonym of `host`; a name that is not one of `names` is returned as it is."""
        return self._names.get(host.casefold(), host)

    def switch_pseudonym(self, name: str) -> str:
        """The pseudonym of a switch, ``switch-5b0e77aa``, computed as that of a host."""
        return f"switch-{self._hmac(name)[:8]}"

    def digest(self, value: str) -> str:
        """Return the HMAC-SHA256 of a private value with the key, 64 hex digits."""
        return self._hmac(f"private\0{value}")

    def _hmac(self, text: str) -> str:
        content = text.encode(errors="surrogateescape")
        return hmac.digest(self._key, content, hashlib.sha256).hex()

    def replace_names(self, text: str) -> str:
        """Return `text`, a message of a program, with pseudonyms instead of the hosts' names."""
        for pattern in self._patterns:
            text = pattern.sub(lambda m: m["before"] + self.pseudonym(m["host"]), text)
        return text


def _alternation_pattern(hosts: Iterable[str]) -> str:
    return "|".join(re.escape(host) for host in hosts) or r"(?!)"  # which matches nothing


SITE_KEY_VARIABLE = "ROUNDTRIP_SITE_KEY"
#: Bytes of a new key, and limits of the bytes of any key.
_NEW_KEY_BYTES, _MIN_KEY_BYTES, _MAX_KEY_BYTES = 32, 16, 4096


def ensure_site_key(site: str) -> bytes:
    """Return the key of `site` from the file in ``ROUNDTRIP_SITE_KEY``, else the user's own.

    The user's own, ``sites/<site>.key`` in `paths.state`, is created if it is missing.
    UserError for a file that others can read, that cannot be read, or that is no key.
    """
    if path := os.environ.get(SITE_KEY_VARIABLE):
        return _read_key(Path(path))
    file = site_key_file(site)
    if not file.exists():
        _make_key(file)
    return _read_key(file)


def site_key_file(site: str) -> Path:
    """Return the path of the user's own key of `site`, which may not exist."""
    return paths.state() / "sites" / f"{site}.key"


def site_hmac(site: str, *parts: bytes) -> str:
    """Return the HMAC-SHA256 of `parts` with the key of `site`, hex; "" without a key.  It proves
    that the writer of a file derived from the bundles could read the key."""
    try:
        key = ensure_site_key(site)
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
            key = stream.read(_MAX_KEY_BYTES + 1).strip()
    except FileNotFoundError:
        why = (
            f"missing: {SITE_KEY_VARIABLE} names it; put the key of the site there, with mode 0400"
        )
        raise UserError(why, file) from None
    except OSError as error:
        raise user_error_from_os(error, file) from None
    if not _MIN_KEY_BYTES <= len(key) <= _MAX_KEY_BYTES:
        raise UserError(
            f"no key of a site: right are {_MIN_KEY_BYTES} to {_MAX_KEY_BYTES} bytes", file
        )
    return key


def _make_key(file: Path) -> None:
    """Create a key; if another process creates one at the same time, its key stays."""
    with report_write_errors(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".key-", dir=file.parent)
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(_NEW_KEY_BYTES) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(0o400)
            with contextlib.suppress(FileExistsError):
                os.link(name, file)
        finally:
            Path(name).unlink()


@dataclass(frozen=True)
class HostNames:
    """Names of hosts by pseudonym; `has_key`: whether the key of the site is available."""

    host_by_pseudonym: dict[str, str]
    has_key: bool

    def insert_names(self, text: str) -> str:
        """Return `text` with ``HOST (node-3fa2c1d9)`` for each pseudonym of a known host."""

        def named(match: re.Match[str]) -> str:
            host = self.host_by_pseudonym.get(match[0])
            return f"{printable(host)} ({match[0]})" if host else match[0]

        return re.sub(rf"(?<![\w-]){PSEUDONYM_PATTERN}(?![\w-])", named, text)


def collect_host_names(site: str, runs: Path) -> HostNames:
    """Return the hosts that the scheduler lists, and those in the newest run trees of `site` below
    `runs`; none without the site's key.  UserError for a key that cannot be used."""
    if not os.environ.get(SITE_KEY_VARIABLE) and not site_key_file(site).exists():
        return HostNames({}, has_key=False)
    key, names = (
        ensure_site_key(site),
        {*schedulers.scheduler_of_site_here(site).collect_node_names()},
    )
    for folder in sorted(runs.glob(f"*/{site}")):
        for tree in sorted(path for path in folder.iterdir() if path.is_dir())[-16:]:
            for name in ("nodes.json", "pairs.json", "host.json"):
                names |= {*host_names(files.read_object_in_tree(tree / "env" / name, tree))}
    pseudonyms = Pseudonyms(names, key)
    return HostNames({pseudonyms.pseudonym(name): name for name in sorted(names)}, has_key=True)
