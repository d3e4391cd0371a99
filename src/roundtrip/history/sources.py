"""Finds and reads files of ReFrame: performance logs, reports, results databases, also in gzip."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import zlib
import zoneinfo
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roundtrip import files
from roundtrip.errors import UserError, printable, user_error_from_os
from roundtrip.history import perflog, reframe_reports
from roundtrip.history.imported_nights import ParsedFile, Reject
from roundtrip.measure.reader import ReaderProcess, ReadingLimits, pack_answer, unpack_answer

#: Size limit of a file, compressed and uncompressed, bytes.
_MAX_FILE_BYTES = 1 << 30
#: What logrotate appends to the name of a log.
ROTATION_SUFFIX = r"(\.h?\d+|-\d+)?(\.gz)?"
#: ReFrame's file names.
_LOG_NAME_PATTERN = re.compile(rf".+\.log{ROTATION_SUFFIX}")
_REPORT_NAME_PATTERN = re.compile(r".+\.(json|db|sqlite3?)(\.gz)?")
_GZIP_MAGIC = b"\x1f\x8b"
_READER_TASK = "roundtrip.history.sources:read_packed_sources"


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
