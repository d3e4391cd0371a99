"""Sides of a comparison: bundles, or launches of them by selector; and the facts of two sides.

``SOURCE[:key=value[,key=value...]]`` names a side, with the keys `KEYS`.  A source is a published
report or the folder of its date, a bundle, a run tree, or a night of the published reports:
``SITE/CAMPAIGN/DATE`` for its newest revision, or ``SITE/CAMPAIGN/DATE/rN``.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.content import data, labels
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError, report_write_errors
from roundtrip.history.facts import find_at_path
from roundtrip.measure import bundle, store
from roundtrip.measure.bundle_rows import NODE_FACT_COLUMNS, SIMULATION_TITLES
from roundtrip.measure.columns import setting_texts
from roundtrip.measure.reader import ReaderProcess
from roundtrip.report.sections.provenance import describe_revision, named_leaves

#: The keys of a selector.  A value of `mpi` is words of what the MPI library says of itself, such
#: as `Open MPI v4.1`; of `boost` and `spack`, the beginning of a version and of a Spack hash.
KEYS = ("toolchain", "mpi", "boost", "spack", "site", "partition", "check", "study")
_SELECTOR = re.compile(r"(?P<source>.+?):(?P<selection>[a-z]+=[^:]*)")
_PREFIX_KEYS = ("boost", "spack")
_UNKNOWN = "not recorded"


@dataclass(frozen=True)
class SideCase:
    """A case of a side; `launches`: its passed rows of cases.parquet; `kind`: "" if measured."""

    study: str
    check: str
    parameters: str
    kind: str
    site: str
    partition: str
    toolchain: str
    mpi: str
    boost: str
    compiler: str
    flags: str
    spack: str
    launches: tuple[Mapping[str, Any], ...]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.study, self.check, self.parameters

    @property
    def launch_names(self) -> list[str]:
        return [row["launch"] for row in self.launches]

    @property
    def simulated(self) -> bool:
        """Whether its values come from a model, which is deterministic."""
        return bool(self.launches[0]["simulated"])

    @property
    def name(self) -> str:
        return f"{self.check}, {self.parameters}" if self.parameters else self.check

    @property
    def label(self) -> str:
        place = f"on {self.site}:{self.partition} with {self.toolchain}"
        return f"{self.name}, {place}" + (f", {self.kind}" if self.kind else "")


#: A case of the base, and the case of the new side that is compared with it.
Pair = tuple[SideCase, SideCase]


@dataclass(frozen=True)
class Side:
    """One side of a comparison: `name`, as the user wrote it, and the chosen values, by key."""

    name: str
    data: BundleData
    selection: Mapping[str, str]

    @cached_property
    def cases(self) -> tuple[SideCase, ...]:
        """The cases of this side that completed; UserError if the selector chooses none."""
        cases = tuple(_cases(self.data))
        for key, value in self.selection.items():
            matches = tuple(case for case in cases if _fits(key, getattr(case, key), value))
            if not matches:
                choices = "; ".join(sorted({getattr(case, key) for case in cases})) or "none"
                raise UserError(f"{self.name}: no launch with {key}={value}; there are: {choices}")
            cases = matches
        if not cases:
            raise UserError(f"{self.name}: no launch completed, so there is nothing to compare")
        return cases

    @property
    def run(self) -> str:
        """The run: ``SITE/CAMPAIGN/DATE/rN`` of a published report, otherwise with its start."""
        facts, night = self.data.manifest.data, store.revision_name(self.data.folder) or self.night
        return f"{facts['site']}/{facts['campaign']}/{night}"

    @property
    def choice(self) -> str:
        """The toolchain, or the number of toolchains; and the rest of the selection."""
        names = {case.toolchain for case in self.cases}
        toolchain = names.pop() if len(names) == 1 else f"{len(names)} toolchains"
        rest = (f"{key}={value}" for key, value in self.selection.items() if key != "toolchain")
        return ", ".join([toolchain, *rest])

    @property
    def night(self) -> str:
        """The UTC date and minute at which the run began."""
        started = str(self.data.manifest.data["started"])
        return f"{started[:10]} {started[11:16]} UTC"


def _fits(key: str, value: str, choice: str) -> bool:
    if key == "mpi":
        return choice.casefold() in value.casefold()
    return value.startswith(choice) if key in _PREFIX_KEYS else value == choice


def _cases(data: BundleData) -> list[SideCase]:
    rows_by_key: dict[tuple[str, str, str, str, str, str, str], list[dict[str, Any]]] = {}
    passed_launches = data.launches.filter(pl.col("status") == "passed")
    for row in passed_launches.sort("launch").iter_rows(named=True):
        parameters = setting_texts(row["parameters"])
        key = (
            str(row["study"]),
            str(row.get("check")),
            ", ".join(f"{name} {value}" for name, value in sorted(parameters.items())),
            labels.launch_label(row["emulation"], row["simulated"]),
            str(row.get("system")),
            str(row.get("partition")),
            str(row.get("environ")),
        )
        rows_by_key.setdefault(key, []).append(row)
    toolchains = _toolchains(data)
    return [
        SideCase(
            *key,
            mpi=_joined_column(rows, "mpi_library"),
            boost=_joined_column(rows, "boost"),
            compiler=_joined_column(rows, "compiler"),
            flags=_joined_column(rows, "compiler_flags"),
            spack=str(find_at_path(toolchains.get(key[-1]), "reframe.extras.spec") or _UNKNOWN),
            launches=tuple(rows),
        )
        for key, rows in rows_by_key.items()
    ]


def _joined_column(rows: list[dict[str, Any]], column: str) -> str:
    """The value of a column of `rows`; all values if there are several."""
    return " / ".join(sorted({str(row.get(column) or _UNKNOWN) for row in rows}))


def _toolchains(data: BundleData) -> dict[str, Any]:
    toolchains = data.env_records.get("toolchains.json")
    return toolchains if isinstance(toolchains, dict) else {}


@dataclass(frozen=True)
class Sources:
    """Opens each source once; `reports`: folder of published reports.

    `scratch`: for bundles of run trees; `decoder` decodes tables before this process reads them.
    """

    reports: Path
    scratch: Path
    decoder: ReaderProcess
    _data_by_folder: dict[Path, BundleData] = field(default_factory=dict)

    def side(self, spec: str, extra_selection: Mapping[str, str] | None = None) -> Side:
        """The side of `spec` and `extra_selection`; UserError for no source, or an unknown key."""
        source, selection = parse_spec(spec)
        name = spec
        for key, value in (extra_selection or {}).items():
            name += f"{',' if selection else ':'}{key}={value}"
            selection[key] = value
        return Side(name, self._data(source), selection)

    def _data(self, source: str) -> BundleData:
        folder = self._folder(source).resolve()
        if folder not in self._data_by_folder:
            if (folder / "state.json").is_file():
                target = self.scratch / f"{len(self._data_by_folder)}"
                with report_write_errors(self.scratch):
                    bundle_path = bundle.build_bundle(folder, target)
            else:
                self.decoder.require_decodable(sorted(folder.rglob("*.parquet")))
                bundle_path = folder
            self._data_by_folder[folder] = data.read_bundle(bundle_path)
        return self._data_by_folder[folder]

    def _folder(self, source: str) -> Path:
        """The folder of the bundle or of the run tree that `source` names."""
        path = Path(source)
        if not path.exists():
            path = store.find_by_name(self.reports, source) or path
        newest = store.revisions(path)[-1:]
        for folder in (path, *newest):
            if (folder / "state.json").is_file():
                return folder
            if bundle_path := store.find_bundle(folder):
                return bundle_path
        if path.exists():
            raise UserError("neither a report, a bundle nor a run tree", path)
        raise UserError(
            "there is no such report, bundle or run tree; a night is SITE/CAMPAIGN/DATE, "
            "and imported nights have no report",
            path,
        )


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split `spec` into source and selection; UserError for an unknown or repeated key."""
    match = None if Path(spec).exists() else _SELECTOR.fullmatch(spec)
    if not match:
        return spec, {}
    selection: dict[str, str] = {}
    for item in match["selection"].split(","):
        key, equals, value = item.partition("=")
        if key not in KEYS or not equals or not value:
            keys = ", ".join(f"{name}=..." for name in KEYS)
            raise UserError(f"'{spec}': '{item}' selects nothing; legal are {keys}")
        if key in selection:
            raise UserError(f"'{spec}': {key} stands twice; right is one value for each key")
        selection[key] = value
    return match["source"], selection


@contextmanager
def open_sources(reports: Path) -> Iterator[Sources]:
    """Sources with a scratch folder that exists until the end of the block."""
    with (
        tempfile.TemporaryDirectory(prefix="roundtrip-compare-") as folder,
        ReaderProcess() as decoder,
    ):
        yield Sources(reports, Path(folder), decoder)


#: Beginnings of machine facts that vary without a cause, or that repeat other facts.
_VOLATILE_FACTS = ("hostname", "load average", "steal share", "schema", "fingerprint")
_MPI_LIBRARY = "MPI library"
#: Names of the facts of a toolchain, by the field of a case.
_CASE_FACTS = {
    "site": "site",
    "partition": "partition",
    "toolchain": "toolchain",
    "mpi": _MPI_LIBRARY,
    "boost": "Boost",
    "compiler": "compiler",
    "flags": "flags",
    "spack": "Spack hash",
}
#: Facts of ReFrame's configuration of a toolchain that are not paths of one machine.
_LAUNCHER_FACTS = tuple(f"reframe extras {name}" for name in ("launcher", "transport"))


@dataclass(frozen=True)
class Fact:
    """A fact with its value on each side."""

    name: str
    base: str
    new: str

    @property
    def differs(self) -> bool:
        return self.base != self.new

    @property
    def brief(self) -> Fact:
        """Of MPI libraries name and version alone, if these differ; otherwise the same fact."""
        base, new = (value.partition(",")[0] for value in (self.base, self.new))
        is_shorter = self.name == _MPI_LIBRARY and base != new
        return replace(self, base=base, new=new) if is_shorter else self


def facts(base: Side, new: Side, pairs: Sequence[Pair]) -> tuple[Fact, ...]:
    """Facts of the compared cases, toolchain first; of the machine none that vary by chance."""
    base_facts, new_facts = (
        dict(_facts(side, [pair[number] for pair in pairs]))
        for number, side in enumerate((base, new))
    )
    return tuple(
        Fact(name, base_facts.get(name, _UNKNOWN), new_facts.get(name, _UNKNOWN))
        for name in dict.fromkeys([*base_facts, *new_facts])
    )


def _facts(side: Side, cases: Sequence[SideCase]) -> Iterator[tuple[str, str]]:
    for field_name, name in _CASE_FACTS.items():
        yield name, _joined(getattr(case, field_name) for case in cases)
    rows = [row for case in cases for row in case.launches]
    is_compared = pl.col("launch").is_in([row["launch"] for row in rows])
    yield "nodes", _joined("+".join(sorted(row["hosts"] or ())) for row in rows)
    yield "ranks", _joined(str(row["ranks"]) for row in rows)
    for column, title in SIMULATION_TITLES.items():
        if values := [str(row[column]) for row in rows if row[column] is not None]:
            yield title, _joined(values)
    nodes = side.data.node_facts.filter(is_compared)
    if not nodes.is_empty():
        for column in NODE_FACT_COLUMNS:
            yield f"{column} of the nodes", _joined(nodes[column].drop_nulls())
        adapters = nodes["adapters"].drop_nulls()
        yield "adapters of the nodes", _joined(name for names in adapters for name in names)
    yield "binding", _joined(_bindings(side.data.placement.filter(is_compared)))
    yield "Roundtrip revision", describe_revision(side.data)
    yield from _toolchain_facts(side, {case.toolchain for case in cases})
    host = side.data.env_records.get("host.json")
    for name, value in named_leaves(host if isinstance(host, dict) else {}):
        if not name.startswith(_VOLATILE_FACTS):
            yield name, value


def _bindings(placement: pl.DataFrame) -> Iterator[str]:
    """For each launch, the processors that each of its ranks may use."""
    for _, ranks in placement.sort("launch", "rank").group_by("launch", maintain_order=True):
        sets = (",".join(map(str, cpus or ["any"])) for cpus in ranks["cpus"].to_list())
        yield "; ".join(f"rank {rank}: {cpus}" for rank, cpus in enumerate(sets))


def _toolchain_facts(side: Side, environs: set[str]) -> Iterator[tuple[str, str]]:
    """Launcher facts of the toolchains, and those of their installer: origin, key, flags."""
    toolchains = _toolchains(side.data)
    values_by_name: dict[str, list[str]] = {}
    for environ in sorted(environs):
        for name, value in named_leaves(toolchains.get(environ, {})):
            if name.startswith(_LAUNCHER_FACTS) or (
                name.startswith("installed ") and not name.endswith((" schema", " name"))
            ):
                values_by_name.setdefault(name.removeprefix("reframe extras "), []).append(value)
    for name, values in values_by_name.items():
        yield name, _joined(values)


def _joined(values: Iterable[str]) -> str:
    return "; ".join(sorted({value for value in values if value})) or _UNKNOWN
