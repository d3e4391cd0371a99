"""Imports files of ReFrame into the history of a campaign on a site, with pseudonyms for hosts."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import polars as pl
from ClusterShell.NodeSet import (  # type: ignore[import-untyped]  # comes with ReFrame
    RESOLVER_NOGROUP,
    NodeSet,
    NodeSetParseError,
)

from roundtrip.errors import UserError, printable
from roundtrip.history import imported_nights
from roundtrip.history.contradictions import reject_contradictions
from roundtrip.history.directions import require_valid_globs, select_comparable
from roundtrip.history.imported_nights import LOGGED_VALUES, VALUES, Reject
from roundtrip.history.sources import Source, read_sources
from roundtrip.measure import pseudonyms, records, store
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.pseudonyms import Pseudonyms


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import: the time zone of times without one, and patterns (globs) of variables.

    Lower values of the variables of `lower` are better, higher values of those of `higher`.
    """

    zone: datetime.tzinfo = datetime.UTC
    lower: Sequence[str] = ()
    higher: Sequence[str] = ()


@dataclass(frozen=True)
class ImportResult:
    """An import: its folder (None if nothing is new), counts of its content, and rejects.

    `values` counts usable values, `new_values` those that no earlier import has.  `empty_rows`
    counts rows without a value, `set_aside` the rejects; `messages` has for each file and reason
    ``file:line: reason``, with the first line.
    """

    folder: Path | None
    files: int
    values: int
    new_values: int
    series: int
    empty_rows: int
    set_aside: int
    messages: list[str]


#: Node limit of a job: the pseudonyms of more nodes do not fit into a history.
_MAX_JOB_NODES = 6000
#: The node of a test that ReFrame distributes over all nodes, in its display name.
_DISTRIBUTED_NODE_PATTERN = re.compile(r" %[.$]nid=(\S+)")
#: Columns of the number of a file, and of its name.
_FILE_COLUMNS = {"source": pl.Int32, "file": pl.String}
_EMPTY_ROWS = pl.DataFrame(schema={**LOGGED_VALUES, **_FILE_COLUMNS, "digest": pl.String})


def import_files(
    root: Path, campaign: str, site: str, places: Iterable[Path], options: ImportOptions
) -> ImportResult:
    """Import `places` into a campaign on a site.

    UserError if writing fails, or if patterns contradict each other or match nothing.
    """
    sources = list(read_sources(places, options.zone))
    rows = [
        source.parsed.rows.with_columns(
            source=pl.lit(number),
            file=pl.lit(PurePath(source.name).name),
            digest=pl.lit(source.digest),
        )
        for number, source in enumerate(sources)
    ]
    all_rows = pl.concat([_EMPTY_ROWS, *rows])
    require_valid_globs(all_rows["metric"].unique().to_list(), options.lower, options.higher)
    values, more_rejects = select_comparable(all_rows, options.lower, options.higher)
    rejects = [
        (number, fault) for number, each in enumerate(sources) for fault in each.parsed.rejects
    ]
    rejects += more_rejects
    stored: dict[str, Any] = {"folder": None, "values": 0, "new_values": 0, "series": 0}
    if values.height:
        place = store.site_folder(root, campaign, site)
        facts = {"campaign": campaign, "site": site, **_source_record(sources, options)}
        stored = _store_values(values, place, facts, sources, rejects)
    return ImportResult(
        files=len(sources),
        empty_rows=sum(source.parsed.empty_rows for source in sources),
        set_aside=len(rejects),
        messages=_messages([(sources[number].file, fault) for number, fault in rejects]),
        **stored,
    )


def _store_values(
    rows: pl.DataFrame,
    place: Path,
    facts: Mapping[str, Any],
    sources: Sequence[Source],
    rejects: list[tuple[int, Reject]],
) -> dict[str, Any]:
    """Import comparable `rows` into the folder of a site; return fields of `ImportResult`.

    `rejects` gets the contradictions to earlier imports.
    """
    names = Redactor(Pseudonyms(_hosts(rows), pseudonyms.ensure_site_key(facts["site"])))
    rows = pseudonymized_rows(rows, names)
    with store.hold_folder(place):
        known_values = imported_nights.read_known_values(place)
        rows, contradictions = reject_contradictions(
            rows, known_values, facts["options"]["timezone"]
        )
        rejects += contradictions
        values = imported_nights.without_repeats(rows)
        # Stored messages contain nothing private, because they may be published.
        lines = [
            names.redact_text(f"{UserError(fault.reason, sources[number].name, fault.line)}")
            for number, fault in rejects
        ]
        folder, new_values = imported_nights.write_import(
            place, known_values.select(*VALUES), values, facts, lines
        )
    series = values.select("case_id", "metric").n_unique()
    return {
        "folder": folder,
        "values": values.height,
        "new_values": new_values,
        "series": series,
    }


def _messages(rejects: list[tuple[Path, Reject]]) -> list[str]:
    """A line for each file and reason: the first place, and how many more there are."""
    lines_by_fault = defaultdict[tuple[Path, str], list[int]](list)
    for file, fault in rejects:
        lines_by_fault[file, fault.reason].append(fault.line)
    return [
        printable(f"{UserError(reason, file, lines[0])}")
        + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")
        for (file, reason), lines in lines_by_fault.items()
    ]


def _hosts(values: pl.DataFrame) -> set[str]:
    """The hosts of jobs, and those that names of tests contain."""
    names = "\n".join(values["name"].unique())
    node_lists = {*values["hosts"], *_DISTRIBUTED_NODE_PATTERN.findall(names)}
    return {host for node_list in node_lists for host in _parse_node_list(node_list)}


def _source_record(sources: list[Source], options: ImportOptions) -> dict[str, Any]:
    entries = sorted((each.name, each.digest, each.bytes) for each in sources)
    return {
        "files": [dict(zip(("name", "sha256", "bytes"), entry, strict=True)) for entry in entries],
        "options": {
            "timezone": str(options.zone),
            "lower_is_better": sorted(options.lower),
            "higher_is_better": sorted(options.higher),
        },
    }


def _parse_node_list(node_list: str) -> list[str]:
    """Return the names in a node list (``nid[001-003]``: three); [] if there are too many."""
    if "[" in node_list and re.fullmatch(r"[\w.,\[\]-]+", node_list):
        with contextlib.suppress(NodeSetParseError):
            nodes = NodeSet(node_list, resolver=RESOLVER_NOGROUP)
            return [str(node) for node in nodes] if len(nodes) <= _MAX_JOB_NODES else []
    names = [name for name in node_list.split(",") if name]
    return names if len(names) <= _MAX_JOB_NODES else []


def pseudonymized_rows(values: pl.DataFrame, names: Redactor) -> pl.DataFrame:
    """Return rows with columns `VALUES` and those of files: our case ids, pseudonyms for hosts."""
    case_key = ["name", "system", "partition", "environ"]
    cases = values.select(case_key).unique(maintain_order=True)
    ids = [
        records.case_id_of_test(names.redact_text(name), *rest) for name, *rest in cases.iter_rows()
    ]
    cases = cases.with_columns(
        pl.Series("case_id", ids, pl.String),
        pl.Series("case", [case_id.split("/", 1)[0] for case_id in ids], pl.String),
    )
    nodes = {
        node_list: "+".join(sorted({names.pseudonym(host) for host in _parse_node_list(node_list)}))
        for node_list in values["hosts"].unique()
    }
    texts = {
        column: {text: names.redact_text(text) for text in values[column].unique()}
        for column in ("modules", "facts")
    }
    return (
        values.join(cases, on=case_key, how="left", maintain_order="left")
        .with_columns(
            pl.col("hosts").replace_strict(nodes, return_dtype=pl.String).alias("nodes"),
            *(
                pl.col(key).replace_strict(replacements, return_dtype=pl.String)
                for key, replacements in texts.items()
            ),
        )
        .select(*VALUES, "line", *_FILE_COLUMNS)
    )
