"""What the two ranks of a trial said, and what their MPI said of its transport."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_RANK, _NODE = "ROUNDTRIP SEES ", "ROUNDTRIP NODE "
#: What names the transport, in the words of UCX, of Open MPI, and of MPICH with libfabric.
_TRANSPORTS = (
    re.compile(r"(?:ep_cfg\[\d+\]:|inter-node cfg#\d+) tag\(((?!self)[^)]+)\)"),
    re.compile(r"mca: bml: Using (?!self)(\w+) btl for send"),
    re.compile(r"^(?:libfabric )?provider(?: name)?: (\S+?),?(?: |$)", re.MULTILINE),
)


@dataclass(frozen=True)
class Rank:
    """One rank: its number, how many there are, its node, and what /proc says of it."""

    number: int
    ranks: int
    host: str
    cpus: str
    online: str
    memlock: str
    mpi: str
    pmi: dict[str, str]
    pmix_client: str

    @property
    def bound(self) -> bool:
        """Whether it may run on fewer processors than its node has."""
        return self.cpus != self.online

    @property
    def process_manager(self) -> str:
        """What client and server speak: ``PMIx 5.0.1 to 4.2.2``, ``PMI``, or nothing."""
        if self.pmi.get("PMIX_NAMESPACE"):
            client = _version(self.pmix_client) or "of unknown version"
            server = _version(self.pmi.get("PMIX_VERSION", "")) or "of unknown version"
            return f"PMIx client {client}, server {server}"
        return "PMI" if self.pmi.get("PMI_RANK") else "no PMI"


@dataclass(frozen=True)
class Told:
    """A trial: its ranks by number, and the transports between nodes that the MPI named."""

    ranks: tuple[Rank, ...]
    transports: tuple[str, ...]

    @property
    def hosts(self) -> list[str]:
        """Nodes, each once."""
        return list(dict.fromkeys(rank.host for rank in self.ranks))


def read(output: str, errors: str) -> Told:
    """From both streams of a job; ranks may write into each other's lines."""
    ranks = [_rank(one) for one in _objects(output, _RANK)]
    text = output + "\n" + errors
    named = [match for pattern in _TRANSPORTS for match in pattern.findall(text)]
    return Told(
        tuple(sorted(ranks, key=lambda rank: (rank.number, rank.host))),
        tuple(sorted({name.strip() for name in named})),
    )


def nodes(output: str) -> dict[str, set[str]]:
    """Nodes of a survey, each with its network interfaces."""
    return {
        one["host"]: {name for name in one["interfaces"].split() if name != "lo"}
        for one in _objects(output, _NODE)
    }


def _objects(text: str, mark: str) -> list[dict[str, Any]]:
    decoder, found = json.JSONDecoder(), []
    for part in text.split(mark)[1:]:
        try:
            one, _ = decoder.raw_decode(part)
        except json.JSONDecodeError:
            continue
        found.append(one)
    return found


def _rank(said: dict[str, Any]) -> Rank:
    return Rank(
        number=said["rank"],
        ranks=said["ranks"],
        host=said["host"],
        cpus=said["cpus"].strip(),
        online=said["online"].strip(),
        memlock=said["memlock"].split()[0],
        mpi=said["mpi"],
        pmi=said["pmi"],
        pmix_client=said["pmix_client"],
    )


def _version(text: str) -> str | None:
    found = re.search(r"\d+\.\d+[.\w]*", text)
    return found[0] if found else None
