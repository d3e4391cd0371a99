"""Brings files of ReFrame into the history of a campaign on a site."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from ClusterShell.NodeSet import (  # type: ignore[import-untyped]  # comes with ReFrame
    RESOLVER_NOGROUP,
    NodeSet,
    NodeSetParseError,
)

from roundtrip.collect import records, site_key
from roundtrip.collect.disclosure import Disclosure
from roundtrip.collect.pseudonyms import Pseudonyms
from roundtrip.errors import UserError, printable
from roundtrip.imported import nights, sources, store, taken
from roundtrip.imported.schema import LOGGED, VALUES


@dataclass(frozen=True)
class Options:
    """What the user says besides the files: a time zone, and directions by globs of variables."""

    zone: datetime.tzinfo = datetime.UTC
    zone_name: str = "UTC"
    lower: Sequence[str] = ()
    higher: Sequence[str] = ()


@dataclass(frozen=True)
class Brought:
    """An import: its folder (None if nothing was usable), what it holds, and what is set aside.

    `empty` counts rows without a value; `aside` has lines ``file:line: reason``.
    """

    folder: Path | None
    files: int
    values: int
    series: int
    empty: int
    aside: list[str]


#: Of one job; the pseudonyms of more would not fit a history.
_MOST_NODES = 6000
_NONE = pl.DataFrame(schema={**LOGGED, "source": pl.Int32, "digest": pl.String})


def bring(
    reports: Path, campaign: str, site: str, places: Iterable[Path], options: Options
) -> Brought:
    """Import `places` into a campaign on a site.

    UserError if the system refuses to write, and for patterns that contradict or match nothing.
    """
    found = list(sources.read(places, options.zone))
    rows = [
        one.read.rows.with_columns(source=pl.lit(number), digest=pl.lit(one.digest))
        for number, one in enumerate(found)
    ]
    every = pl.concat([_NONE, *rows])
    taken.require_patterns(every["metric"].unique().to_list(), options.lower, options.higher)
    values, doubtful = taken.of(every, options.lower, options.higher)
    aside = [(number, fault) for number, one in enumerate(found) for fault in one.read.aside]
    aside += doubtful
    shown = [printable(f"{UserError(one.reason, found[n].file, one.line)}") for n, one in aside]
    empty = sum(one.read.empty for one in found)
    if not values.height:
        return Brought(None, len(found), 0, 0, empty, shown)
    names = _disclosure(site, values)
    kept = nights.once(as_kept(values, names))
    # Nothing private is in what is kept, because it may be published.
    told = [names.message(f"{UserError(one.reason, found[n].name, one.line)}") for n, one in aside]
    source = {"campaign": campaign, "site": site, **_source(found, options)}
    written = store.write(reports / campaign / site / store.FOLDER, kept, source, told)
    series = kept.select("case_id", "metric", "unit").n_unique()
    return Brought(written, len(found), kept.height, series, empty, shown)


def _source(found: list[sources.Source], options: Options) -> dict[str, Any]:
    files = [{"name": one.name, "sha256": one.digest, "bytes": one.bytes} for one in found]
    return {
        "files": sorted(files, key=lambda entry: (entry["name"], entry["sha256"])),
        "options": {
            "timezone": options.zone_name,
            "lower_is_better": sorted(options.lower),
            "higher_is_better": sorted(options.higher),
        },
    }


def _disclosure(site: str, values: pl.DataFrame) -> Disclosure:
    hosts = {host for joined in values["hosts"].unique() for host in _hosts(joined)}
    return Disclosure(Pseudonyms(hosts, site_key.of(site)))


def _hosts(joined: str) -> list[str]:
    """The names in a list of nodes; ``nid[001-003]`` are three.  None of a list of too many."""
    if "[" in joined and re.fullmatch(r"[\w.,\[\]-]+", joined):
        with contextlib.suppress(NodeSetParseError):
            nodes = NodeSet(joined, resolver=RESOLVER_NOGROUP)
            return [str(node) for node in nodes] if len(nodes) <= _MOST_NODES else []
    names = [name for name in joined.split(",") if name]
    return names if len(names) <= _MOST_NODES else []


def as_kept(values: pl.DataFrame, names: Disclosure) -> pl.DataFrame:
    """The rows as they are stored: cases by our names, hosts by pseudonyms."""
    place = ["name", "system", "partition", "environ"]
    who = values.select(place).unique(maintain_order=True)
    ids = [records.named_case_id(*row) for row in who.iter_rows()]
    who = who.with_columns(
        pl.Series("case_id", ids, pl.String),
        pl.Series("case", [one.split("/", 1)[0] for one in ids], pl.String),
    )
    nodes = {
        joined: "+".join(sorted({names.of(host) for host in _hosts(joined)}))
        for joined in values["hosts"].unique()
    }
    texts = {
        column: {text: names.message(text) for text in values[column].unique()}
        for column in ("modules", "facts")
    }
    return (
        values.join(who, on=place, how="left", maintain_order="left")
        .with_columns(
            pl.col("hosts").replace_strict(nodes, return_dtype=pl.String).alias("nodes"),
            *(
                pl.col(key).replace_strict(told, return_dtype=pl.String)
                for key, told in texts.items()
            ),
        )
        .select(*VALUES)
    )
