"""A site as declared: ``site-configs/<site>/site.toml``, merged over the files of its bases.

site-configs/README.md describes the keys.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from roundtrip import tables
from roundtrip.model import Table
from roundtrip.sites import siblings
from roundtrip.sites.extras import Extras
from roundtrip.tables import Path_, Places, Strings

#: The file in a site's folder.
FILE = "site.toml"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Launch(Table):
    """How an MPI family starts its ranks, and which variables it needs.

    Without a `launcher`, the partition's launcher is used.  `pmi` is the value of srun's ``--mpi``.
    """

    launcher: str | None = None
    pmi: str | None = None
    options: Strings = ()
    variables: dict[str, str] = Field(default_factory=dict)
    variables_as_root: dict[str, str] = Field(default_factory=dict)


class Condition(Table):
    """A condition that holds if `file` exists and has the text `contains` in it."""

    file: str
    contains: str

    def __bool__(self) -> bool:
        file = Path(self.file)
        return file.is_file() and self.contains in file.read_text(errors="replace")


class Transport(Table):
    """An environment of its own: the toolchain of `mpi` with the last Boost, and `variables` that
    choose the transport; `over` is the transport's name for people."""

    mpi: str
    over: str
    variables: dict[str, str] = Field(default_factory=dict)
    unless: str | None = None


class Partition(Table):
    """A ReFrame partition; `name` is the name of its table by default.

    `without` are MPI families that cannot run there.  `account` is an option with the placeholder
    ``{account}``; it is added if ``$ROUNDTRIP_ACCOUNT`` is set.  `side_by_side` says that launches
    whose nodes differ do not disturb each other, so that pairs of nodes are measured together.
    """

    name: str
    description: str
    scheduler: str
    scheduler_if: dict[str, str] = Field(default_factory=dict)
    launcher: str
    access: Strings = ()
    account: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    without: Strings = ()
    environs: Strings | None = None
    variables: dict[str, str] = Field(default_factory=dict)
    prepare: Strings = ()
    features: Strings = ()
    processor: dict[str, Any] | None = None
    extras: Extras = Field(default_factory=Extras)
    max_jobs: int = 1
    side_by_side: bool = False
    only_if: str | None = None
    unless: str | None = None


class SiteData(Table):
    """A site; `software` says who makes its toolchains: `roundtrip toolchains`, Spack, or nobody.

    `bind` are options of every launch, after its own.  `pmix` is the series of PMIx that the MPIs
    are built with, which is that of the cluster's Slurm (``pmix_v4`` is 4).  `label` is what is in
    the names of toolchains from Spack (`labels`).  `detect` are features
    that each partition has if the machine has them.  `declared` are environments in ReFrame's form.
    """

    description: str
    hostnames: Strings
    software: Literal["toolchains", "spack", "none"]
    bind: Strings = ()
    pmix: str | None = None
    label: Strings = ()
    detect: Annotated[tuple[Literal["pvm"], ...], Field(strict=False)] = ()
    launch: dict[str, Launch] = Field(default_factory=dict)
    variables: dict[str, str] = Field(default_factory=dict)
    condition: dict[str, Condition] = Field(default_factory=dict)
    transport: dict[str, Transport] = Field(default_factory=dict)
    partition: dict[str, Partition]
    declared: dict[str, dict[str, Any]] = Field(default_factory=dict)


def of(folder: Path, checkout: Path) -> SiteData | None:
    """The site in `folder`; None for one that is written in Python, without a data file."""
    file = folder / FILE
    return load(file, checkout) if file.is_file() else None


def load(file: Path, checkout: Path) -> SiteData:
    """The site in `file`; UserError with file and line of the first fault."""
    data, places = _with_bases(file, checkout / "site-configs" / "base", ())
    legal = sorted({*SiteData.model_fields, "base", "values", "every_partition", "slurm_partition"})
    for key in data:
        if key not in legal:
            told = f"unknown key '{key}'; legal are {', '.join(legal)}"
            raise tables.fault(told, (key,), places, file)
    values = data.pop("values", {})
    every = data.pop("every_partition", {})
    slurms = data.pop("slurm_partition", {})
    parts = (values, every, slurms, *(slurms.values() if isinstance(slurms, dict) else ()))
    if not all(isinstance(item, dict) for item in parts):
        told = "`values`, `every_partition` and each `slurm_partition` are tables"
        raise tables.fault(told, ("values",), places, file)
    known = {
        **{key: str(value) for key, value in values.items()},
        "site": file.parent.name,
        "checkout": shlex.quote(str(checkout)),
    }
    if isinstance(first := next(iter(slurms), None), str):
        known = {"partition": first, **known}
    partitions: Any = data.pop("partition", {})
    if isinstance(partitions, dict):
        partitions = siblings.spread(partitions, slurms, places)
        _inherit_places(places, partitions)
        for key, table in partitions.items():
            if isinstance(table, dict):
                own = {**known, **table.pop(siblings.VALUES, {})}
                partitions[key] = _partition(key, tables.merge(every, table), own, places, file)
    filled = _fill(data, known, (), places, file)
    site = tables.validate({**filled, "partition": partitions}, SiteData, places, file)
    _require_references(site, places, file)
    return site


def _partition(
    key: str, table: dict[str, Any], known: dict[str, str], places: Places, file: Path
) -> dict[str, Any]:
    """The partition, filled in; its extras are placeholders too."""
    path: Path_ = ("partition", key)
    extras = _fill(table.get("extras", {}), known, (*path, "extras"), places, file)
    pairs = extras.items() if isinstance(extras, dict) else ()
    own = {name: value for name, value in pairs if isinstance(value, str)}
    name = str(table.get("name", key))
    account = os.environ.get("ROUNDTRIP_ACCOUNT", "")
    known = {**known, **own, "name": name, "account": account}
    rest = {other: value for other, value in table.items() if other != "extras"}
    return {"name": name, **_fill(rest, known, path, places, file), "extras": extras}


def _with_bases(file: Path, folder: Path, below: tuple[str, ...]) -> tuple[dict[str, Any], Places]:
    data, places = tables.read(file)
    name = data.pop("base", None)
    if name is None:
        return data, places
    shipped = sorted(path.stem for path in folder.glob("*.toml"))
    if name not in shipped or name in below:
        told = f"base: there is no '{name}'; there are: {', '.join(shipped)}"
        raise tables.fault(told, ("base",), places, file)
    lower, lower_places = _with_bases(folder / f"{name}.toml", folder, (*below, name))
    return tables.merge(lower, data), {**lower_places, **places}


def _inherit_places(places: Places, partitions: Any) -> None:
    """Give the place of a key in `every_partition` to each partition that has it from there."""
    every = {path[1:]: place for path, place in places.items() if path[0] == "every_partition"}
    for key in partitions if isinstance(partitions, dict) else ():
        for path, place in every.items():
            if path:
                places.setdefault(("partition", key, *path), place)


def _fill(value: Any, known: dict[str, str], path: Path_, places: Places, file: Path) -> Any:
    """`value` with the placeholders in its texts replaced; `across` has its own."""
    if isinstance(value, dict):
        return {
            key: item if key == "across" else _fill(item, known, (*path, key), places, file)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_fill(item, known, path, places, file) for item in value]
    if not isinstance(value, str):
        return value
    for name in _PLACEHOLDER.findall(value):
        if name not in known:
            told = f"unknown placeholder {{{name}}}; legal are {', '.join(sorted(known))}"
            raise tables.fault(told, path, places, file)
    return _PLACEHOLDER.sub(lambda match: known[match[1]], value)


def _require_references(site: SiteData, places: Places, file: Path) -> None:
    """UserError for a condition that is named and not declared."""
    named: list[tuple[str, Path_]] = []
    for key, one in site.partition.items():
        path: Path_ = ("partition", key)
        named += [(name, (*path, "scheduler_if")) for name in one.scheduler_if]
        named += [(one.only_if, (*path, "only_if"))] if one.only_if else []
        named += [(one.unless, (*path, "unless"))] if one.unless else []
    for key, other in site.transport.items():
        named += [(other.unless, ("transport", key))] if other.unless else []
    for name, path in named:
        if name not in site.condition:
            legal = ", ".join(site.condition) or "none"
            told = f"unknown condition '{name}'; there are: {legal}"
            raise tables.fault(told, path, places, file)
