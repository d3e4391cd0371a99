"""Names of hosts: where they stand in JSON, the pseudonyms that replace them, and the way back.

A pseudonym is made with the key of the site, a file with mode 0400 that goes into no bundle, report
or message: nobody can guess the name, and it is the same every night.  Only who has the key can
make the pseudonyms of all names that are known at the site, and so find the host behind one.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files, paths
from roundtrip.errors import UserError, printable, refusal, writing

#: Fields of JSON that hold the name of a host, or a list of names.
HOST_FIELDS = ("host", "hosts", "hostname")


def host_names(data: Any) -> Iterator[str]:
    """Every host name in the fields `FIELDS` of JSON data, at any depth."""
    if isinstance(data, dict):
        for key, value in data.items():
            values = value if isinstance(value, list) else [value]
            if key in HOST_FIELDS:
                yield from (item for item in values if isinstance(item, str))
            yield from host_names(value)
    elif isinstance(data, list):
        for item in data:
            yield from host_names(item)


_KEYWORD = r"\b(?:on|from|nodes?|hosts?|hostname)[\"']?(?:\s*[=:]\s*|\s+)[\"'(]?"
#: A pseudonym.  Older bundles count: node1, node2, ..., other hosts in each bundle.
PSEUDONYM = r"node-[0-9a-f]{8}"


class Pseudonyms:
    """``node-3fa2c1d9`` for the name of a host: always the same with the same `key`.

    It is the beginning of the HMAC-SHA256 of the name, in small letters and without its domain.
    """

    def __init__(self, names: Iterable[str], key: bytes) -> None:
        spellings = {name.casefold(): name for name in sorted(names) if name.strip(".")}
        spellings.pop("localhost", None)
        self._names: dict[str, str] = {}
        self._key = key
        for host in sorted(spellings):
            short_name = host.split(".")[0]
            if (
                not short_name or short_name.isdecimal()
            ):  # the first number of an address identifies nothing
                short_name = host
            self._names[host] = self._names[short_name] = f"node-{self._short_digest(short_name)}"
        hosts = sorted({*self._names, *spellings.values()}, key=lambda host: (-len(host), host))
        # A name with a dot, or with letters and digits, is a host wherever it is.  A name of
        # letters may be English, and is a host only where one is expected.  A number never is.
        mixed_names = _any_of(host for host in hosts if not host.isalpha() and not host.isdecimal())
        words = _any_of(host for host in hosts if host.isalpha())
        self._anywhere = _pattern(rf"(?P<before>(?<![\w.-]))(?P<host>{mixed_names})(?![\w-])")
        self._expected = _pattern(
            rf"(?P<before>{_KEYWORD}|@)(?P<host>{words})(?![\w-])",
            rf"(?P<before>(?:^|[:;] )\[?)(?P<host>{words})(?=:)",
        )

    def pseudonym(self, host: str) -> str:
        """The pseudonym of `host`; an unknown name is returned as it is."""
        return self._names.get(host.casefold(), host)

    def switch_pseudonym(self, name: str) -> str:
        """The pseudonym of a switch, ``switch-5b0e77aa``, made as that of a host."""
        return f"switch-{self._short_digest(name)}"

    def _short_digest(self, name: str) -> str:
        content = name.encode(errors="surrogateescape")
        return hmac.digest(self._key, content, hashlib.sha256).hex()[:8]

    def digest(self, value: str) -> str:
        """64 hex digits that tell two private values apart, and that need the key."""
        content = f"private\0{value}".encode(errors="surrogateescape")
        return hmac.digest(self._key, content, hashlib.sha256).hex()

    def message(self, text: str) -> str:
        """A message of a program, with host names replaced."""
        for pattern in (*self._anywhere, *self._expected):
            text = pattern.sub(lambda m: m["before"] + self.pseudonym(m["host"]), text)
        return text


def _any_of(hosts: Iterable[str]) -> str:
    return "|".join(re.escape(host) for host in hosts) or r"(?!)"  # which matches nothing


def _pattern(*alternatives: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.IGNORECASE) for text in alternatives)


KEY_VARIABLE = "ROUNDTRIP_SITE_KEY"
#: Bytes of a key: of one that is made, and of any that is taken.
_NEW, _FEWEST, _MOST_KEY = 32, 16, 4096


def site_key(site: str) -> bytes:
    """The key of `site`: that of the file which ``ROUNDTRIP_SITE_KEY`` names, else the user's own.

    The user's own, ``sites/<site>.key`` in `paths.state`, is made when it is first needed.
    UserError for a file that others can read, that cannot be read, or that is no key.
    """
    if path := os.environ.get(KEY_VARIABLE):
        return _read_key(Path(path))
    file = site_key_file(site)
    if not file.exists():
        _make_key(file)
    return _read_key(file)


def existing_site_key(site: str) -> bytes | None:
    """The key of `site`, as `site_key`, but none is made: None where there is none."""
    return site_key(site) if os.environ.get(KEY_VARIABLE) or site_key_file(site).exists() else None


def site_key_file(site: str) -> Path:
    """Where the user's own key of `site` is, made or not."""
    return paths.state() / "sites" / f"{site}.key"


def proof(site: str, *parts: bytes) -> str:
    """The HMAC-SHA256 of `parts` by the key of `site`, hex; "" if there is no key to be had.

    Who cannot read the key cannot write a derived file that we take for our own.
    """
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
    """Make a key; if another process makes one at the same time, its key stays."""
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


#: The newest run trees of each campaign in which names are looked for, and files of a tree.
_TREES = 16
_FILES = ("env/nodes.json", "env/pairs.json", "env/host.json")
_SINFO = ("sinfo", "--noheader", "--Node", "--format=%N")
_SINFO_S = 10.0
_PSEUDONYM_WORD = re.compile(rf"(?<![\w-]){PSEUDONYM}(?![\w-])")


@dataclass(frozen=True)
class HostNames:
    """`by_pseudonym`: hosts; `has_key`: whether the key of the site is at hand."""

    by_pseudonym: dict[str, str]
    has_key: bool

    def insert_names(self, text: str) -> str:
        """`text` with ``HOST (node-3fa2c1d9)`` for each pseudonym whose host is known."""

        def shown(match: re.Match[str]) -> str:
            host = self.by_pseudonym.get(match[0])
            return f"{printable(host)} ({match[0]})" if host else match[0]

        return _PSEUDONYM_WORD.sub(shown, text)


def known_hosts(site: str, runs: Path) -> HostNames:
    """Of `site`, whose run trees are below `runs`; nothing is known without the site's key.

    UserError for a key that cannot be used.
    """
    if (key := existing_site_key(site)) is None:
        return HostNames({}, has_key=False)
    names = {*_slurm_nodes(), *_recorded_hosts(site, runs)}
    pseudonyms = Pseudonyms(names, key)
    return HostNames({pseudonyms.pseudonym(name): name for name in sorted(names)}, has_key=True)


def _slurm_nodes() -> list[str]:
    """The nodes that Slurm lists; none where it does not answer."""
    try:
        process = subprocess.run(
            _SINFO, capture_output=True, text=True, timeout=_SINFO_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return process.stdout.split()


def _recorded_hosts(site: str, runs: Path) -> Iterator[str]:
    """The hosts that the newest run trees of the site name, whatever campaign they are of."""
    for folder in sorted(runs.glob(f"*/{site}")):
        for tree in sorted(path for path in folder.iterdir() if path.is_dir())[-_TREES:]:
            for name in _FILES:
                yield from host_names(files.read_object_in_tree(tree / name, tree))
