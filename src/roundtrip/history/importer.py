"""Imports files of ReFrame into the history of a campaign on a site.

The files are performance logs, reports and results databases, with or without gzip.  Their values
can be compared over nights if they are not below 0 and their better direction is known.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import zlib
import zoneinfo
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import polars as pl
from ClusterShell.NodeSet import (  # type: ignore[import-untyped]  # comes with ReFrame
    RESOLVER_NOGROUP,
    NodeSet,
    NodeSetParseError,
)

from roundtrip import files
from roundtrip.errors import UserError, printable, user_error_from_os
from roundtrip.history import imported_nights, perflog, reframe_reports
from roundtrip.history.imported_nights import LOGGED_VALUES, VALUES, ParsedFile, Reject
from roundtrip.measure import pseudonyms, records, store
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.pseudonyms import Pseudonyms
from roundtrip.measure.reader import ReaderProcess, ReadingLimits, pack_answer, unpack_answer
from roundtrip.measure.samples import MAX_VALUE, MIN_VALUE

#: Size limit of a file, compressed and uncompressed, bytes.
_MAX_FILE_BYTES = 1 << 30
#: ReFrame's file names, also with the suffixes of logrotate.
_LOG_NAME_PATTERN = re.compile(r".+\.log(\.h?\d+|-\d+)?(\.gz)?")
_REPORT_NAME_PATTERN = re.compile(r".+\.(json|db|sqlite3?)(\.gz)?")
_GZIP_MAGIC = b"\x1f\x8b"
_READER_TASK = "roundtrip.history.importer:read_packed_sources"


@dataclass(frozen=True)
class Source:
    """A file and its parsed content; `name` is relative to the folder that the user gave."""

    file: Path
    name: str
    digest: str
    bytes: int
    parsed: ParsedFile


def read_sources(places: Iterable[Path], zone: datetime.tzinfo) -> Iterator[Source]:
    """Yield the files of `places` (files or folders) in their order, each content once.

    In a folder, these are logs by their names, and reports and databases by names and content.
    A file that cannot be read, or reaches a limit of `collect.reader`, has a reject and no values.
    """
    digests, errors = set(), list[OSError]()
    with ReaderProcess() as reader:
        for file, name, is_asked in _find_files(places, errors):
            is_ours = is_asked or bool(_LOG_NAME_PATTERN.fullmatch(file.name))
            try:
                answers = reader.run_task(
                    _READER_TASK, [file], str(zone), "ours" if is_ours else ""
                )
                head, rows = unpack_answer(*answers)
            except UserError as error:
                yield Source(file, name, "", 0, ParsedFile(rejects=[Reject(0, error.message)]))
                continue
            if head["is_used"] and head["digest"] not in digests:
                digests.add(head["digest"])
                rejects = [Reject(*reject) for reject in head["aside"]]
                result = ParsedFile(rows, rejects, head["empty"])
                yield Source(file, name, head["digest"], head["size"], result)
    for folder_error in errors:
        folder = Path(folder_error.filename)
        rejects = [
            Reject(0, f"a folder that cannot be read: {user_error_from_os(folder_error).message}")
        ]
        yield Source(folder, printable(folder.name), "", 0, ParsedFile(rejects=rejects))


def read_packed_sources(
    limits: ReadingLimits, names: Sequence[str], content: bytes, zone: str, is_ours: str
) -> Iterator[bytes]:
    """Yield the packed content of each file; runs in the process of the reader.

    UserError for a file that cannot be read or has too many rows.
    """
    for file in map(Path, names):
        data = files.read_in_tree(file, max_bytes=_MAX_FILE_BYTES)
        if data.startswith(reframe_reports.SQLITE_MAGIC):
            data = reframe_reports.copy_database(file)
        digest = hashlib.sha256(data).hexdigest()
        is_used = bool(is_ours) or _is_report_or_database(data)
        result = parse(data, zoneinfo.ZoneInfo(zone)) if is_used else ParsedFile()
        limits.require_rows(result.rows.height)
        rejects = [(reject.line, reject.reason) for reject in result.rejects]
        head = {"digest": digest, "size": len(data), "is_used": is_used}
        yield pack_answer({**head, "empty": result.empty_rows, "aside": rejects}, result.rows)


def parse(content: bytes, zone: datetime.tzinfo) -> ParsedFile:
    """Return the values of a file; its content determines its kind."""
    fault = None
    if content.startswith(_GZIP_MAGIC):
        content, fault = _gunzip(content)
    if not content.strip():
        result = ParsedFile(rejects=[] if fault else [Reject(0, "an empty file")])
    elif content.startswith(reframe_reports.SQLITE_MAGIC):
        result = reframe_reports.parse_database(content)
    elif content.lstrip().startswith((b"{", b"[")):
        result = reframe_reports.parse_report(content)
    else:
        result = perflog.parse(content, zone)
    if fault:
        result.rejects.append(fault)
    return result


def _find_files(places: Iterable[Path], errors: list[OSError]) -> Iterator[tuple[Path, str, bool]]:
    """Yield file, name, and whether the user named it; `errors` gets unreadable folders."""
    for place in places:
        if not place.is_dir():
            file = place
            with contextlib.suppress(RuntimeError):  # symbolic links that form a loop
                file = place.resolve()
            yield file, printable(place.name), True
            continue
        for folder, subfolders, names in os.walk(place, onerror=errors.append):
            subfolders.sort()
            for name in sorted(names):
                file = Path(folder, name)
                if _LOG_NAME_PATTERN.fullmatch(name) or _REPORT_NAME_PATTERN.fullmatch(name):
                    yield file, printable(file.relative_to(place).as_posix()), False


def _is_report_or_database(content: bytes) -> bool:
    """Whether the content is a report or a results database."""
    plain = _gunzip(content)[0] if content.startswith(_GZIP_MAGIC) else content
    return plain.startswith(reframe_reports.SQLITE_MAGIC) or b'"session_info"' in plain


def _gunzip(content: bytes) -> tuple[bytes, Reject | None]:
    """Return the uncompressed content up to the first fault, and the fault, if any."""
    parts, size = [], 0
    while content:
        stream = zlib.decompressobj(wbits=31)
        try:
            parts.append(stream.decompress(content, _MAX_FILE_BYTES - size + 1))
        except zlib.error as error:
            return b"".join(parts), Reject(0, f"broken gzip: {error}")
        size += len(parts[-1])
        if size > _MAX_FILE_BYTES:
            return b"", Reject(0, f"too large: more than {_MAX_FILE_BYTES} bytes unpacked")
        if not stream.eof:
            return b"".join(parts), Reject(0, "cut off: gzip has no end")
        content = stream.unused_data.lstrip(b"\0")
    return b"".join(parts), None


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import: the time zone of logs that name none, and patterns (globs) of
    variables whose `lower` or `higher` values are better.
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
_EMPTY_ROWS = pl.DataFrame(schema={**LOGGED_VALUES, "source": pl.Int32, "digest": pl.String})


def import_files(
    root: Path, campaign: str, site: str, places: Iterable[Path], options: ImportOptions
) -> ImportResult:
    """Import `places` into a campaign on a site.

    UserError if writing fails, or if patterns contradict each other or match nothing.
    """
    sources = list(read_sources(places, options.zone))
    rows = [
        source.parsed.rows.with_columns(source=pl.lit(number), digest=pl.lit(source.digest))
        for number, source in enumerate(sources)
    ]
    all_rows = pl.concat([_EMPTY_ROWS, *rows])
    require_valid_globs(all_rows["metric"].unique().to_list(), options.lower, options.higher)
    values, more_rejects = select_comparable(all_rows, options.lower, options.higher)
    rejects = [(source, fault) for source in sources for fault in source.parsed.rejects]
    rejects += [(sources[number], fault) for number, fault in more_rejects]
    lines_by_fault = defaultdict[tuple[Path, str], list[int]](list)
    for source, fault in rejects:
        lines_by_fault[source.file, fault.reason].append(fault.line)
    messages = [
        printable(f"{UserError(reason, file, lines[0])}")
        + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")
        for (file, reason), lines in lines_by_fault.items()
    ]
    empty_rows = sum(source.parsed.empty_rows for source in sources)
    if not values.height:
        return ImportResult(None, len(sources), 0, 0, 0, empty_rows, len(rejects), messages)
    node_lists = {
        *values["hosts"],
        *_DISTRIBUTED_NODE_PATTERN.findall("\n".join(values["name"].unique())),
    }
    hosts = {host for node_list in node_lists for host in _parse_node_list(node_list)}
    names = Redactor(Pseudonyms(hosts, pseudonyms.ensure_site_key(site)))
    usable_values = imported_nights.without_repeats(pseudonymized_rows(values, names))
    # Stored messages contain nothing private, because they may be published.
    lines = [
        names.redact_text(f"{UserError(fault.reason, source.name, fault.line)}")
        for source, fault in rejects
    ]
    facts = {"campaign": campaign, "site": site, **_source_record(sources, options)}
    folder, new_values = imported_nights.write_import(
        store.site_folder(root, campaign, site), usable_values, facts, lines
    )
    series = usable_values.select("case_id", "metric").n_unique()
    counts = usable_values.height, new_values, series, empty_rows, len(rejects)
    return ImportResult(folder, len(sources), *counts, messages)


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
    """Return rows with columns `VALUES`: our case ids, and pseudonyms for hosts."""
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
        .select(*VALUES)
    )


_TIME_UNIT_PATTERN = (
    r"(?:[numµμ]?s(?:ecs?)?|(?:micro|milli|nano)?seconds?|mins?|minutes?|h|hrs?|hours?)"
)
_LOWER_BETTER_UNIT_PATTERN = re.compile(
    rf"{_TIME_UNIT_PATTERN}(?:/\S+|\s+per\s+\S+)?", re.IGNORECASE
)
_HIGHER_BETTER_UNIT_PATTERN = re.compile(
    r".+(?:/| per )\s*(?:s|secs?|seconds?|min|hr?|hour|d|day)|[kmgtpe]?i?(?:bps|i?ops|flops)|\S*hz",
    re.IGNORECASE,
)


def select_comparable(
    rows: pl.DataFrame, lower: Sequence[str], higher: Sequence[str]
) -> tuple[pl.DataFrame, list[tuple[int, Reject]]]:
    """Return the comparable rows with `lower_is_better`, and rejects with the number of their file.

    Column `source` is the number of the file.  `lower` and `higher` are the user's globs of names
    of variables.  A variable has one reject per file and reason.
    """
    keys = ["metric", "unit", "lower", "upper"]
    kinds = rows.select(keys).unique(maintain_order=True)
    directions = [
        lower_is_better(*kind, lower_globs=lower, higher_globs=higher) for kind in kinds.iter_rows()
    ]
    kinds = kinds.with_columns(pl.Series("lower_is_better", directions, pl.Boolean))
    rows = rows.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")
    is_known = pl.col("lower_is_better").is_not_null()
    is_legal = (pl.col("value") == 0) | pl.col("value").is_between(MIN_VALUE, MAX_VALUE)
    rejects = _reject_variables(rows.filter(~is_known)) + _reject_variables(
        rows.filter(is_known, ~is_legal)
    )
    return rows.filter(is_known, is_legal), rejects


def require_valid_globs(
    metrics: Sequence[str], lower: Sequence[str], higher: Sequence[str]
) -> None:
    """UserError for a pattern that matches no metric, or a metric that both sides match."""
    sides = (("--lower-is-better", lower), ("--higher-is-better", higher))
    for metric in sorted(metrics):
        matches = [[glob for glob in globs if fnmatchcase(metric, glob)] for _, globs in sides]
        if all(matches):
            options = " and ".join(f"{sides[n][0]} {matches[n][0]!r}" for n in (0, 1))
            raise UserError(f"variable {metric!r} is meant by {options}: right is one of them")
    for option, globs in sides if metrics else ():
        for glob in globs:
            if not any(fnmatchcase(metric, glob) for metric in metrics):
                metric_names = ", ".join(sorted(metrics)[:20])
                raise UserError(f"{option} {glob!r} matches no variable; there are: {metric_names}")


def _reject_variables(rows: pl.DataFrame) -> list[tuple[int, Reject]]:
    """Return a reject per file and variable, with first line and number of its values."""
    groups = rows.group_by("source", "metric", "unit", maintain_order=True).agg(
        pl.col("line").first(), pl.len(), pl.col("lower_is_better").is_null().any()
    )
    rejects = []
    for source, metric, unit, line, count, is_unknown in groups.iter_rows():
        reason = f"neither 0 nor {MIN_VALUE:g} to {MAX_VALUE:g}: nights are compared by ratios"
        if is_unknown:
            reason = f"the unit {unit!r} does not tell which direction is better: say "
            reason += f"--lower-is-better {metric!r} or --higher-is-better {metric!r}"
        rejects.append((source, Reject(line, f"{metric}, {count} values: {reason}")))
    return rejects


def lower_is_better(
    metric: str,
    unit: str,
    lower: float | None,
    upper: float | None,
    *,
    lower_globs: Sequence[str] = (),
    higher_globs: Sequence[str] = (),
) -> bool | None:
    """Return whether lower values of `metric` are better; None if unknown.

    The user's globs decide first; then a reference with one limit only, because ReFrame fails
    worse values; then the unit.
    """
    if any(fnmatchcase(metric, glob) for glob in lower_globs):
        return True
    if any(fnmatchcase(metric, glob) for glob in higher_globs):
        return False
    if (lower is None) != (upper is None):
        return lower is None
    if _HIGHER_BETTER_UNIT_PATTERN.fullmatch(unit):
        return False
    return True if _LOWER_BETTER_UNIT_PATTERN.fullmatch(unit) else None
