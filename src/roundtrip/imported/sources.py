"""Finds what can be imported: performance logs, reports, results databases; packed or not."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import zlib
import zoneinfo
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roundtrip.collect import confined
from roundtrip.collect.reader import Limits, Reader, packed, unpacked
from roundtrip.errors import UserError, printable, refusal
from roundtrip.imported import database, perflog, session
from roundtrip.imported.schema import Read, SetAside

#: The largest file that is read, packed or not, bytes.
_MOST = 1 << 30
#: ReFrame's names, and what logrotate makes of them.
_LOG = re.compile(r".+\.log(\.h?\d+|-\d+)?(\.gz)?")
_OTHER = re.compile(r".+\.(json|db|sqlite3?)(\.gz)?")
_GZIP = b"\x1f\x8b"
_TASK = "roundtrip.imported.sources:answer"


@dataclass(frozen=True)
class Source:
    """A file that was read, and what it holds; `name` is below the folder that the user gave."""

    file: Path
    name: str
    digest: str
    bytes: int
    read: Read


def read(places: Iterable[Path], zone: datetime.tzinfo) -> Iterator[Source]:
    """Every file that `places` are or hold, in their order, each content once.

    In a folder, only files are read that have a name or a beginning of ReFrame's.  UserError for a
    place that does not exist.  A file that reaches a limit of `collect.reader` is set aside.
    """
    seen, closed = set(), list[OSError]()
    with Reader() as reader:
        for file, name, is_asked in _files(places, closed):
            is_ours = is_asked or bool(_LOG.fullmatch(file.name))
            try:
                answers = reader.answers(_TASK, [file], str(zone), "ours" if is_ours else "")
                digest, size, found = _received(*answers)
            except UserError as error:
                yield Source(file, name, "", 0, Read(aside=[SetAside(0, error.what)]))
                continue
            if found is not None and digest not in seen:
                seen.add(digest)
                yield Source(file, name, digest, size, found)
    for told in closed:
        folder = Path(told.filename)
        aside = [SetAside(0, f"a folder that cannot be read: {refusal(told).what}")]
        yield Source(folder, printable(folder.name), "", 0, Read(aside=aside))


def answer(
    limits: Limits, files: Sequence[str], content: bytes, zone: str, is_ours: str
) -> Iterator[bytes]:
    """For each file, in the process of the reader: what `_received` makes a `Read` of again.

    UserError for a file that cannot be read, and for one of too many rows.
    """
    for file in files:
        held = _content(Path(file))
        digest = hashlib.sha256(held).hexdigest()
        is_used = bool(is_ours) or _is_ours(held)
        found = parse(held, zoneinfo.ZoneInfo(zone)) if is_used else Read()
        limits.require_rows(found.rows.height)
        aside = [(one.line, one.reason) for one in found.aside]
        head = {"digest": digest, "size": len(held), "is_used": is_used}
        yield packed({**head, "empty": found.empty, "aside": aside}, found.rows)


def _received(answer: bytes) -> tuple[str, int, Read | None]:
    """Digest and size of a file, and what it holds; None for one that is not ReFrame's."""
    head, rows = unpacked(answer)
    aside = [SetAside(line, reason) for line, reason in head["aside"]]
    found = Read(rows, aside, head["empty"]) if head["is_used"] else None
    return head["digest"], head["size"], found


def parse(content: bytes, zone: datetime.tzinfo) -> Read:
    """The values of a file of any kind; its content tells which."""
    fault = None
    if content.startswith(_GZIP):
        content, fault = _unpacked(content)
    if not content.strip():
        found = Read(aside=[] if fault else [SetAside(0, "an empty file")])
    elif content.startswith(database.MAGIC):
        found = database.parse(content)
    elif content.lstrip().startswith((b"{", b"[")):
        found = session.parse(content)
    else:
        found = perflog.parse(content, zone)
    if fault:
        found.aside.append(fault)
    return found


def _files(places: Iterable[Path], closed: list[OSError]) -> Iterator[tuple[Path, str, bool]]:
    """File, name, and whether the user named it; `closed` gets folders that cannot be read."""
    for place in places:
        if not place.is_dir():
            yield _resolved(place), printable(place.name), True
            continue
        for folder, inner, names in os.walk(place, onerror=closed.append):
            inner.sort()
            for name in sorted(names):
                file = Path(folder, name)
                if _LOG.fullmatch(name) or _OTHER.fullmatch(name):
                    yield file, printable(file.relative_to(place).as_posix()), False


def _resolved(place: Path) -> Path:
    """`place` without symbolic links; as it is, if they lead in a circle: then reading tells."""
    try:
        return place.resolve()
    except RuntimeError:
        return place


def _content(file: Path) -> bytes:
    start = confined.read(file, most=_MOST)
    return database.content(file) if start.startswith(database.MAGIC) else start


def _is_ours(content: bytes) -> bool:
    """Whether a file of any name in a folder is a report or a results database."""
    plain = _unpacked(content)[0] if content.startswith(_GZIP) else content
    return plain.startswith(database.MAGIC) or b'"session_info"' in plain


def _unpacked(content: bytes) -> tuple[bytes, SetAside | None]:
    """What gzip packed, up to where it is broken; and the fault, if it is."""
    parts, size = [], 0
    while content:
        stream = zlib.decompressobj(wbits=31)
        try:
            parts.append(stream.decompress(content, _MOST - size + 1))
        except zlib.error as error:
            return b"".join(parts), SetAside(0, f"broken gzip: {error}")
        size += len(parts[-1])
        if size > _MOST:
            return b"", SetAside(0, f"too large: more than {_MOST} bytes unpacked")
        if not stream.eof:
            return b"".join(parts), SetAside(0, "cut off: gzip has no end")
        content = stream.unused_data.lstrip(b"\0")
    return b"".join(parts), None
