"""What a partition and an environment may say in ReFrame's ``extras``, and what it means.

Checks read them by these names.  site-configs/README.md shows them as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from roundtrip.model import Table
from roundtrip.tables import Strings


class Simulated(Table):
    """What a partition simulates: `platform`, a file of the site's ``platforms/``, the speed of its
    hosts [flop/s], and, where the platform has it, by how much round trips are longer [ms]."""

    platform: str
    host_flops: float = Field(gt=0, le=1e15)
    added_rtt_ms: Annotated[float, Field(ge=0, strict=False)] | None = None


class Extras(Table):
    """Of a partition."""

    fabric: str | None = Field(default=None, description="what joins the ranks, on show")
    binding: str | None = Field(
        default=None, description="what a rank is bound to: `core` or `none`"
    )
    transport: str | None = Field(
        default=None, description="the transport that UCX is told to take"
    )
    device: str | None = Field(default=None, description="the device that UCX is told to take")
    interface: str | None = Field(
        default=None, description="network interface of the nodes, for what speaks IP itself"
    )
    processors: int | Literal["here"] | None = Field(
        default=None,
        description="processors that all nodes share, where nodes are none; `here`: all",
    )
    emulated: dict[str, Any] | None = Field(
        default=None, description="what is emulated, and how; on show"
    )
    simulated: Simulated | None = Field(
        default=None,
        description="what SimGrid simulates: `platform` (a file of the site's `platforms/`), "
        "`host_flops` (speed of a host) and, where round trips can be longer, `added_rtt_ms`",
    )
    lease: str | None = Field(
        default=None, description="command that holds the emulated link while a launch crosses it"
    )
    across: Strings | None = Field(
        default=None,
        description="scheduler options for nodes on both sides of the link; {nodes}: on each side",
    )
    nodes: int | None = Field(
        default=None, description="nodes of the partition; the features `nodes_2`, ... follow"
    )
    cores: int | Literal["here"] | None = Field(
        default=None,
        description="cores of a node; the features `cores_2`, ... follow; `here`: this machine's",
    )
    sockets: int | Literal["here"] | None = Field(
        default=None,
        description="sockets of a node; `sockets_2`, ... follow; `here`: this machine's",
    )
    size_from: str | None = Field(
        default=None,
        description="a `slurm.conf` that says how many of these there are, if it exists",
    )
    memory_gb: int | None = Field(default=None, description="memory of a node, GB")
    assumed: dict[str, Any] | None = Field(
        default=None, description="what a simulation assumes, because no source tells it"
    )


#: Of an environment; whoever renders one fills them in.
ENVIRONMENT = {
    "toolchain": "its title, on show",
    "mpi": "MPI family: `openmpi`, `mpich`, `mvapich`, `mvapich2`, `smpi`",
    "mpi_version": "version of the MPI, as far as it is known before it is asked",
    "boost_version": "version of Boost",
    "transport": "transport that its variables choose, on show",
    "prefix": "where the toolchain is; `toolchain.json` there says what it was made of",
    "build": "name of the folder in build/ that environments alike share",
    "programs": "folder of our programs, where Spack built them: nothing is built then",
    "launcher": "ReFrame's launcher that starts this MPI; the partition's otherwise",
    "launcher_options": "its options",
    "launcher_options_oversubscribed": "its options for more ranks than processors",
    "npb_upstream": "folder of NPB 3.4's programs, `<bench>.<class>.x`",
    "osu_prefix": "prefix of OSU Micro-Benchmarks",
    "netpipe_reference": "program of NetPIPE 3.7.2",
    "lacks": "what would make a missing feature available, by feature",
    "spec": "hash of the concrete Spack spec that it is",
    "specs": "version and hash of what Spack built for it: our programs, the MPI, Boost",
    "prefixes": "folders that must be there, or it is not installed",
    "suites": "prefixes of what others wrote for this MPI, by Spack package",
}


def unknown(kind: str, name: str, extras: Iterable[str]) -> list[str]:
    """A line for each key that is none; `kind` is partition or environment."""
    known: Mapping[str, Any] = Extras.model_fields if kind == "partition" else ENVIRONMENT
    legal = ", ".join(sorted(known))
    return [
        f"{kind} '{name}': unknown key '{key}' in extras; legal are {legal}"
        for key in extras
        if key not in known
    ]
