"""Decodes untrusted files in a subprocess, within limits of memory, processor time and rows.

A small malicious file can unpack to gigabytes, compute for hours, or make polars abort its process,
which no exception handler can catch.  So packed and computed files (parquet, gzip, sqlite) and
large texts are read here.  A UserError names the file and the limit.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from roundtrip.errors import UserError
from roundtrip.files import MAX_RECORD_BYTES, MAX_REPORT_BYTES, parse_json, read_text_in_tree

if TYPE_CHECKING:
    import polars as pl

#: Limits for a file of 0 bytes, and their increase per byte.  Measured data hardly compresses, so
#: only a malicious file needs far more than this per byte.
BASE_MEMORY_BYTES, MEMORY_PER_FILE_BYTE, MAX_MEMORY_BYTES = 640 << 20, 32, 4 << 30
#: Memory per byte of JSON; Python needs 3 for what workloads and ReFrame write, 21 for ``[],[],``.
MEMORY_PER_JSON_BYTE = 6
BASE_PROCESSOR_S, PROCESSOR_S_PER_BYTE = 6, 0.25e-6
BASE_ROWS, ROWS_PER_BYTE = 1 << 19, 1
#: Environment variable with a factor of all limits, for a site with larger files.
FACTOR_VARIABLE = "ROUNDTRIP_READER_FACTOR"
#: Timeout of an answer, seconds, in case a file system hangs.
_ANSWER_TIMEOUT_S = 180.0
#: A decoder that gets no more memory may deadlock: seconds without processor time, and its share of
#: the limit of memory, from which on it counts as such.
_STALL_S, _STALL_MEMORY_SHARE = 2.0, 0.9
#: Timeout of the end of the process after its last job, seconds.
_EXIT_TIMEOUT_S = 1.0
_TABLES_TASK = "roundtrip.measure.reader:decode_tables"
_JSON_TASK = "roundtrip.measure.reader:decode_json_files"
#: The JSON files of a run tree, and the total size up to which any take little memory and time.
_JSON_GLOBS = (
    "*",
    "env/*",
    "rounds/*/*",
    *(f"rounds/*/{p}/*/*/*/*/*" for p in ("output", "stage")),
)
_MAX_UNLIMITED_JSON_BYTES = 1 << 22
_ANSWER_MARK, _ERROR_MARK, _END_MARK = b"+", b"-", b"."
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class ReadingLimits:
    """Limits of decoding some files: bytes of memory, processor seconds, rows of tables."""

    memory_bytes: int
    processor_s: int
    rows: int

    @staticmethod
    def for_size(size: int, memory_per_byte: int = MEMORY_PER_FILE_BYTE) -> ReadingLimits:
        """Return the limits for files of `size` bytes in total; UserError for an invalid factor."""
        text, factor = os.environ.get(FACTOR_VARIABLE, "1"), 0.0
        with contextlib.suppress(ValueError):
            factor = float(text)
        if not 1 <= factor <= 1000:
            raise UserError(f"{FACTOR_VARIABLE}={text!r}: right is a number from 1 to 1000")
        memory = int(factor * min(BASE_MEMORY_BYTES + memory_per_byte * size, MAX_MEMORY_BYTES))
        seconds, rows = (
            BASE_PROCESSOR_S + PROCESSOR_S_PER_BYTE * size,
            BASE_ROWS + ROWS_PER_BYTE * size,
        )
        return ReadingLimits(
            min(memory, _data_limit_bytes()), int(factor * seconds) + 1, int(factor * rows)
        )

    def require_rows(self, rows: int) -> None:
        """UserError if `rows` exceeds the limit."""
        if rows > self.rows:
            raise UserError(f"{rows} rows; right are at most {self.rows}; {_factor_advice()}")


def require_decodable_bundle(bundle: Path) -> None:
    """UserError unless a subprocess can decode all tables of `bundle` together within the limits.
    Any other fault of a table is left to `bundle_tables`."""
    require_decodable_tables(sorted(bundle.rglob("*.parquet")))


def require_decodable_tables(files: Sequence[Path]) -> None:
    """UserError unless a subprocess can decode the parquet `files` together within the limits."""
    with ReaderProcess() as reader:
        reader.require_decodable(files)


def require_decodable_json(tree: Path) -> None:
    """UserError unless a subprocess can parse all JSON files of a run tree within the limits."""
    json_files = [file for name in _JSON_GLOBS for file in sorted(tree.glob(f"{name}.json"))]
    json_files = [file for file in json_files if not file.is_symlink()]  # its reader reports it
    if sum(map(_disk_bytes, json_files)) > _MAX_UNLIMITED_JSON_BYTES:
        with ReaderProcess() as reader:
            for _ in reader.run_task(_JSON_TASK, json_files, str(tree)):
                pass


class ReaderProcess:
    """A subprocess for tasks on untrusted files; one that a task kills is started again."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._memory = MAX_MEMORY_BYTES

    def __enter__(self) -> ReaderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()  # its tasks are done, and an orderly exit takes 0.1 s and more
        self._end_process()

    def require_decodable(self, files: Sequence[Path]) -> None:
        """UserError unless the tables `files` can be decoded together within the limits."""
        for _ in self.run_task(_TABLES_TASK, files) if files else ():
            pass

    def run_task(
        self, task: str, files: Sequence[Path], *arguments: str, content: bytes = b""
    ) -> Iterator[bytes]:
        """Run the function `task`, ``module:name``, in the process; yield its answer for each file.

        It is called with limits, names of `files`, `content` and `arguments`.  UserError with the
        first file without an answer if it raises that, reaches a limit, or its process dies.
        """
        per_byte = MEMORY_PER_JSON_BYTE if task == _JSON_TASK else MEMORY_PER_FILE_BYTE
        limits = ReadingLimits.for_size(len(content) or sum(map(_disk_bytes, files)), per_byte)
        stream = self._start_process()
        job = [
            task,
            [limits.memory_bytes, limits.processor_s, limits.rows],
            list(map(str, files)),
            arguments,
        ]
        number = 0
        try:
            for part in (json.dumps(job).encode("utf-8", "surrogateescape"), content):
                stream.write(len(part).to_bytes(_LENGTH_BYTES, "big") + part)
            stream.flush()
            self._memory = limits.memory_bytes
            while (kind := self._receive(1)) != _END_MARK:
                answer = self._receive(int.from_bytes(self._receive(_LENGTH_BYTES), "big"))
                if kind == _ERROR_MARK:
                    self._end_process()  # its remaining memory may be too small
                    raise UserError(answer.decode("utf-8", "replace"), files[number])
                yield answer
                number += 1
            self._receive(_LENGTH_BYTES)
        except (BrokenPipeError, EOFError, MemoryError, TimeoutError) as error:
            raise UserError(self._end_and_explain(error, limits), files[number]) from None

    def _start_process(self) -> IO[bytes]:
        if self._process is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  `_end` closes it
            program = f"from {__name__} import serve_reader; serve_reader()"
            # -P: no modules from the user's current folder.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, "POLARS_MAX_THREADS": "1"},
            )
        assert self._process.stdin is not None  # noqa: S101  for the type checker
        return self._process.stdin

    def _receive(self, count: int) -> bytes:
        assert self._process is not None and self._process.stdout is not None  # noqa: S101  as above
        stream, parts = self._process.stdout.fileno(), []
        start = stall = time.monotonic()
        used = -1
        while count:
            if not select.select([stream], [], [], _STALL_S / 4)[0]:
                now, before = time.monotonic(), used
                used, data = _process_usage(self._process.pid)
                if used != before or data < _STALL_MEMORY_SHARE * self._memory:
                    stall = now
                if now - stall > _STALL_S:
                    raise MemoryError
                if now - start > _ANSWER_TIMEOUT_S:
                    raise TimeoutError
                continue
            part = os.read(stream, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _end_and_explain(self, error: Exception, limits: ReadingLimits) -> str:
        """End the process, and return why it did not answer, for people."""
        status, words = self._end_process()
        if isinstance(error, TimeoutError):
            return f"reading it takes more than {_ANSWER_TIMEOUT_S:g} s: is its file system away?"
        if isinstance(error, MemoryError) or b"MemoryError" in words:
            return _memory_message(limits)
        if status == -signal.SIGXCPU:
            why = f"reading it takes more than {limits.processor_s} s of processor time"
            return f"{why}; {_factor_advice()}"
        if b"memory allocation of" in words or status == -signal.SIGKILL:
            return _memory_message(limits)
        how = f"died of signal {-status}" if status < 0 else f"ended with status {status}"
        return f"its decoder {how}"

    def _end_process(self) -> tuple[int, bytes]:
        """End the process; return its exit status and standard error, 0 and b"" if none runs."""
        process, errors = self._process, self._errors
        self._process = self._errors = None
        if process is None or errors is None:
            return 0, b""
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  as above
        with contextlib.suppress(BrokenPipeError):  # of unread input
            process.stdin.close()
        process.stdout.close()
        try:
            process.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
        status = process.wait()
        errors.seek(0)
        words = errors.read(1 << 16)
        errors.close()
        return status, words


def _process_usage(process: int) -> tuple[int, int]:
    """Return processor time (clock ticks) and data segment (bytes) of a process; 0 if it ended."""
    try:
        ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[5])
    except (OSError, ValueError):
        return 0, 0
    return sum(map(int, ticks)), pages * resource.getpagesize()


def pack_answer(head: Mapping[str, Any], frame: pl.DataFrame) -> bytes:
    """Encode a JSON object and a table as the answer of a task."""
    text, buffer = json.dumps(head).encode(), io.BytesIO()
    frame.write_ipc(buffer)
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text + buffer.getvalue()


def unpack_answer(answer: bytes) -> tuple[dict[str, Any], pl.DataFrame]:
    """Decode an answer of `pack_answer`, with the columns of its table."""
    import polars as pl  # slow, and unnecessary for commands that read no table

    start = _LENGTH_BYTES + int.from_bytes(answer[:_LENGTH_BYTES], "big")
    return json.loads(answer[_LENGTH_BYTES:start]), pl.read_ipc(io.BytesIO(answer[start:]))


def _disk_bytes(file: Path) -> int:
    """Return the bytes that a file takes on disk: holes must not raise limits; 0 if unreadable."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return 0
    return min(status.st_size, 512 * status.st_blocks)


def _data_limit_bytes() -> int:
    """Return the user's hard limit (`ulimit -H -d`) of the data of a process, bytes."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _memory_message(limits: ReadingLimits) -> str:
    advice = (
        "`ulimit -d` allows no more"
        if limits.memory_bytes == _data_limit_bytes()
        else _factor_advice()
    )
    return f"reading it takes more than {limits.memory_bytes >> 20} MiB of memory; {advice}"


def _factor_advice() -> str:
    return f"if it is a good file, set {FACTOR_VARIABLE}=2 or more"


def die_with_parent(signal_number: int) -> None:
    """Let the kernel send this process the signal when its parent ends, see prctl(2)."""
    ctypes.CDLL(None).prctl(1, signal_number)  # PR_SET_PDEATHSIG


def serve_reader() -> None:
    """Run the tasks on standard input until it ends: the program of `ReaderProcess`."""
    import polars as pl

    die_with_parent(signal.SIGKILL)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library may print to standard output
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while head := sys.stdin.buffer.read(_LENGTH_BYTES):
        task, numbers, files, arguments = json.loads(_read_message(head))
        content = _read_message(sys.stdin.buffer.read(_LENGTH_BYTES))
        limits = ReadingLimits(*numbers)
        _set_limits(limits)
        module, _, name = task.partition(":")
        answers = getattr(importlib.import_module(module), name)(limits, files, content, *arguments)
        try:
            for answer in answers:
                _send_answer(output, _ANSWER_MARK, answer)
        except MemoryError:
            _send_answer(output, _ERROR_MARK, _memory_message(limits).encode())
        except UserError as error:
            _send_answer(output, _ERROR_MARK, error.message.encode("utf-8", "replace"))
        except (OSError, pl.exceptions.PanicException):
            # Where an allocation fails, too.  `ru_maxrss` has the parent's peak of memory, too.
            peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
            is_full = peak is not None and 2 * 1024 * int(peak[1]) > limits.memory_bytes
            words = _memory_message(limits) if is_full else "its decoder failed"
            _send_answer(output, _ERROR_MARK, words.encode())
        else:
            _send_answer(output, _END_MARK, b"")
        del answers


def _read_message(length: bytes) -> bytes:
    return sys.stdin.buffer.read(int.from_bytes(length, "big"))


def _send_answer(output: IO[bytes], kind: bytes, content: bytes) -> None:
    output.write(kind + len(content).to_bytes(_LENGTH_BYTES, "big") + content)
    output.flush()


def _set_limits(limits: ReadingLimits) -> None:
    """Limit memory and further processor time of this process, at most to the hard limits."""
    resource.setrlimit(
        resource.RLIMIT_DATA, (limits.memory_bytes, resource.getrlimit(resource.RLIMIT_DATA)[1])
    )
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(usage.ru_utime + usage.ru_stime) + limits.processor_s
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def decode_tables(limits: ReadingLimits, files: Sequence[str], content: bytes) -> Iterator[bytes]:
    """Task: decode tables, which all stay in memory as in the caller; yield b"" for each file."""
    import polars as pl

    frames: list[pl.DataFrame] = []
    rows = 0
    for file in files:
        try:
            rows += pl.scan_parquet(file).select(pl.len()).collect().item()
            limits.require_rows(rows)
            frames.append(pl.read_parquet(file))
        except (pl.exceptions.PolarsError, OSError):
            pass  # the table's reader reports it
        yield b""


def decode_json_files(
    limits: ReadingLimits, names: Sequence[str], content: bytes, root: str
) -> Iterator[bytes]:
    """Task: parse JSON files in the tree `root`, and keep them in memory; b"" for each file."""
    gc.disable()  # there are no cycles in JSON, and searching for them takes most of the time
    values = []
    for file in map(Path, names):
        with contextlib.suppress(UserError):  # the file's reader reports it
            most = MAX_REPORT_BYTES if file.name == "report.json" else MAX_RECORD_BYTES
            values.append(parse_json(read_text_in_tree(file, Path(root), most)))
        yield b""
