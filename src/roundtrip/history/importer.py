"""Imports files of ReFrame into the history of a campaign on a site, with pseudonyms for hosts.

Files are performance logs, reports and results databases, also in gzip.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
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
from roundtrip.history.screening import (
    ROTATION_SUFFIX,
    reject_contradictions,
    require_valid_globs,
    select_comparable,
)
from roundtrip.measure import pseudonyms, records, store
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.pseudonyms import Pseudonyms
from roundtrip.measure.reader import ReaderProcess, ReadingLimits, pack_answer, unpack_answer


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
    """Import `places`; UserError if writing fails, or if patterns contradict or match nothing."""
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
    """Import `rows`; return fields of `ImportResult`.  Contradictions are added to `rejects`."""
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
    return {"folder": folder, "values": values.height, "new_values": new_values, "series": series}


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


#: Size limit of a file, compressed and uncompressed, bytes.
_MAX_FILE_BYTES = 1 << 30
#: ReFrame's file names.
_LOG_NAME_PATTERN = re.compile(rf".+\.log{ROTATION_SUFFIX}")
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
    A file that cannot be read, or reaches a limit of `measure.reader`, has a reject and no values.
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
    """Yield the packed content of each file; UserError if unreadable, or of too many rows."""
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
