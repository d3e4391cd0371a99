"""The section on provenance: machine, toolchains, code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import (
    Block,
    Cell,
    CollapsibleBlocks,
    Column,
    Heading,
    InlineCode,
    Paragraph,
    ReportSection,
    Table,
    Verbatim,
    fold_if_long,
    text_cells,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.measure import signature, store
from roundtrip.measure.bundle_rows import NODE_FACT_COLUMNS
from roundtrip.measure.public_files import WITHHELD_FILE
from roundtrip.measure.run_record import NODE_FACT_TITLES
from roundtrip.units import Quantity, Unit

_NOT_RECORDED_TEXT = "not recorded"


def build_section(data: BundleData) -> ReportSection:
    """The section: code, machine, nodes, toolchains, clocks, thresholds, files."""
    blocks: list[Block] = [_code_table(data), *_machine_blocks(data), *_node_blocks(data)]
    blocks += [_toolchain_table(data), _clock_table(data)]
    for name, content in sorted(data.env_records.items()):
        if name != "host.json" and content is not None:
            table = _fact_table(f"env/{name}", tuple(named_leaves(content)))
            blocks.append(CollapsibleBlocks(f"Recorded in env/{name}", (table,)))
    blocks += [
        Heading(3, "Thresholds"),
        Paragraph(("All thresholds of this report: ", InlineCode("analysis.toml"))),
        Verbatim(data.analysis.toml_text),
    ]
    if defaults := data.analysis.default_toml:
        lacking = "The file lacks these thresholds, so these defaults apply:"
        blocks += [Paragraph((lacking,)), Verbatim(defaults)]
    campaign = (Verbatim(data.campaign_text),)
    blocks += [
        CollapsibleBlocks("The campaign as declared: campaign.toml", campaign),
        CollapsibleBlocks("Files of the bundle, with checksums", (_file_table(data),)),
    ]
    title = "Provenance: what this was measured with"
    note = data.env_records.get(WITHHELD_FILE)
    places = note.get("looked_like_credentials") if isinstance(note, dict) else None
    warnings = []
    if isinstance(places, list) and places:
        count = units.plural(len(places), "field holds", "fields hold")
        names = ", ".join(map(str, places[:5]))
        warning = f"{count} a value that looks like a credential, replaced by a digest: {names}."
        warnings.append(warning)
    return ReportSection("provenance", title, tuple(blocks), warnings=tuple(warnings))


def describe_revision(data: BundleData) -> str:
    """Commit and state of the checkout that ran the campaign."""
    git = data.manifest.data["git"]
    if not git["commit"]:
        return "no git revision recorded"
    return f"{git['commit'][:12]}{', with uncommitted changes' if git['dirty'] else ''}"


def _code_table(data: BundleData) -> Table:
    facts = data.manifest.data
    tools = ", ".join(f"{name} {version}" for name, version in sorted(facts["tools"].items()))
    signer = "unsigned"
    if key := facts.get("signer"):  # the page cannot prove the signature
        fingerprint = signature.fingerprint(key)
        signer = f"signed by {fingerprint}; `roundtrip report DIR --verify` checks it"
    rows = (
        ("Roundtrip revision", describe_revision(data)),
        ("Campaign", f"{facts['campaign']} on site {facts['site']}"),
        ("Started", facts["started"]),
        ("Finished", facts["finished"] or "did not finish: see the missing launches"),
        ("Collected with", tools),
        ("Bundle digest", data.manifest.digest),
        ("Signature", signer),
        ("Night before", str((facts.get("before") or {}).get("digest", "none in this bundle"))),
    )
    return _fact_table("Code and campaign.", rows)


def _machine_blocks(data: BundleData) -> list[Block]:
    host = data.env_records.get("host.json")
    heading = Heading(3, "Machine")
    if not isinstance(host, dict):
        return [heading, Paragraph(("No record of the machine (env/host.json) in this bundle.",))]
    scalars = {k: v for k, v in host.items() if not isinstance(v, dict)}
    blocks: list[Block] = [heading]
    sections = {"host": scalars, **{k: v for k, v in host.items() if isinstance(v, dict)}}
    for name, section in sections.items():
        if rows := tuple(named_leaves(section)):
            table = _fact_table(name.replace("_", " ").capitalize() + ".", rows)
            blocks.append(fold_if_long(f"Machine: {name} ({len(rows)} facts)", table))
    return blocks


def named_leaves(data: Any, name_prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, value) of every leaf of `data`; a list of plain values is one leaf."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from named_leaves(value, f"{name_prefix} {key}".strip())
    elif isinstance(data, list) and any(isinstance(item, dict) for item in data):
        for number, item in enumerate(data, 1):
            is_table = isinstance(item, dict)
            leaf = ", ".join(f"{k} {v}" for k, v in item.items()) if is_table else str(item)
            yield f"{name_prefix} {number}", leaf
    else:
        yield name_prefix.replace("_", " "), _value_text(data)


def _value_text(value: Any) -> str:
    if value is None or value == [] or value == "":
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)


def _node_blocks(data: BundleData) -> list[Block]:
    facts = data.node_facts.select("host", *NODE_FACT_TITLES)
    nodes = facts.unique().sort("host", *NODE_FACT_COLUMNS)
    if nodes.is_empty():
        return []
    rows = tuple(text_cells(host, *map(_value_text, facts)) for host, *facts in nodes.iter_rows())
    headings = (words[0].upper() + words[1:] for words in NODE_FACT_TITLES.values())
    columns = text_columns("Node", *headings)
    caption = (
        "Nodes as the launches recorded them, by the pseudonym of the host; firmware: its BIOS."
    )
    return [fold_if_long(f"All {len(rows)} nodes", Table(caption, columns, rows))]


def _toolchain_table(data: BundleData) -> Table:
    names = ["environ", "mpi_library", "boost", "compiler", "compiler_flags"]
    bindings = _binding_by_launch(data)
    rows = set()
    for row in data.completed_launches.select("launch", "ranks", *names).iter_rows(named=True):
        facts = [row[name] or _NOT_RECORDED_TEXT for name in names]
        ranks = _NOT_RECORDED_TEXT if row["ranks"] is None else units.count(row["ranks"])
        binding = bindings.get(row["launch"], _NOT_RECORDED_TEXT)
        rows.add((*text_cells(*facts), Cell(ranks), Cell(binding)))
    return Table(
        "Toolchains as the launches recorded them; binding: rank on host: allowed processors.",
        text_columns("Toolchain", "MPI library", "Boost", "Compiler", "Flags", "Ranks", "Binding"),
        tuple(sorted(rows, key=lambda cells: [cell.text for cell in cells])),
    )


def _binding_by_launch(data: BundleData) -> dict[str, str]:
    bindings: dict[str, list[str]] = {}
    placement = data.placement.select("launch", "rank", "host", "cpus")
    for launch, rank, host, cpus in placement.iter_rows():
        processors = ",".join(map(str, cpus or ["any"]))
        bindings.setdefault(launch, []).append(f"{rank} on {host}: {processors}")
    return {launch: "; ".join(ranks) for launch, ranks in bindings.items()}


def _clock_table(data: BundleData) -> Table:
    rows = []
    groups = data.completed_launches.group_by("environ")
    for (environ,), group in sorted(groups, key=lambda item: str(item[0])):
        names = ", ".join(sorted({str(name) for name in group["clock"]}))
        cells = [_max_ns_cell(group[name]) for name in ("clock_resolution_s", "clock_overhead_s")]
        rows.append((*text_cells(str(environ), names), *cells))
    caption = "Clocks: coarsest resolution and largest overhead of a reading over the launches."
    columns = (
        *text_columns("Toolchain", "Clock"),
        *(Column(name, "right", Unit.NS) for name in ("Resolution", "Overhead")),
    )
    return Table(caption, columns, tuple(rows))


def _max_ns_cell(seconds: pl.Series) -> Cell:
    values = seconds.drop_nulls().to_list()
    if not values:
        return Cell(_NOT_RECORDED_TEXT)
    return Cell(Quantity(value=max(values) * 1e9, unit=Unit.NS, decimals=0))


def _file_table(data: BundleData) -> Table:
    rows = []
    for name, entry in sorted(data.manifest.data["files"].items()):
        size = Quantity(value=entry["bytes"], unit=Unit.BYTES, decimals=0)
        rows.append((Cell(name), Cell(size), Cell(entry["sha256"])))
    columns = (Column("File"), Column("Bytes", "right", Unit.BYTES), Column("SHA-256"))
    caption = f"The bundle is beside this report, in {store.bundle_file_path('')}."
    return Table(caption, columns, tuple(rows))


def _fact_table(caption: str, rows: tuple[tuple[str, str], ...]) -> Table:
    return Table(caption, text_columns("Fact", "Value"), tuple(text_cells(*row) for row in rows))
