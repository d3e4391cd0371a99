"""The hosts behind pseudonyms, for people at the site: on a terminal, never on a page.

A pseudonym cannot be turned back into a name.  The key of the site makes the pseudonyms of all
names that are known here: those that Slurm lists, and those in the run trees of the site.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roundtrip.collect import hosts, site_key
from roundtrip.collect.pseudonyms import STABLE, Pseudonyms
from roundtrip.errors import printable

#: The newest run trees of each campaign in which names are looked for, and files of a tree.
_TREES = 16
_FILES = ("env/nodes.json", "env/pairs.json", "env/host.json")
_SINFO = ("sinfo", "--noheader", "--Node", "--format=%N")
_SINFO_S = 10.0
_PSEUDONYM = re.compile(rf"(?<![\w-]){STABLE}(?![\w-])")


@dataclass(frozen=True)
class HostNames:
    """`known`: hosts by pseudonym; `has_key`: whether the key of the site is at hand."""

    known: dict[str, str]
    has_key: bool

    def named(self, text: str) -> str:
        """`text` with ``HOST (node-3fa2c1d9)`` for each pseudonym whose host is known."""
        return _PSEUDONYM.sub(lambda found: self._shown(found[0]), text)

    def _shown(self, pseudonym: str) -> str:
        host = self.known.get(pseudonym)
        return f"{printable(host)} ({pseudonym})" if host else pseudonym


def of(site: str, runs: Path) -> HostNames:
    """Of `site`, whose run trees are below `runs`; nothing is known without the site's key.

    UserError for a key that cannot be used.
    """
    key = site_key.at_hand(site)
    if key is None:
        return HostNames({}, has_key=False)
    names = {*_listed(), *_recorded(site, runs)}
    pseudonyms = Pseudonyms(names, key)
    return HostNames({pseudonyms.of(name): name for name in sorted(names)}, has_key=True)


def _listed() -> list[str]:
    """The nodes that Slurm lists; none where it does not answer."""
    try:
        done = subprocess.run(_SINFO, capture_output=True, text=True, timeout=_SINFO_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split()


def _recorded(site: str, runs: Path) -> Iterator[str]:
    """The hosts that the newest run trees of the site name, whatever campaign they are of."""
    for folder in sorted(runs.glob(f"*/{site}")):
        for tree in sorted(one for one in folder.iterdir() if one.is_dir())[-_TREES:]:
            for name in _FILES:
                yield from hosts.named(hosts.read(tree / name, tree))
