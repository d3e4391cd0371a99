"""The one reader of text, JSON and TOML that others wrote: whatever is wrong is a UserError.

What it returns is safe to pass on: it comes from a regular file, every number fits into 64 bits,
all text can be written as UTF-8, and no nesting is deep enough to exhaust the stack of a reader.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from roundtrip.errors import UserError, refusal

#: Far deeper than any file that Roundtrip, ReFrame or Spack writes.
MAX_DEPTH = 64
#: The largest file that is read whole, and the largest text: Python may need 24 bytes for each.
MOST_BYTES, MOST_TEXT = 1 << 30, 1 << 24
_INTEGER_DIGITS = 20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)")
_Parsed = TypeVar("_Parsed")


def read_bytes(file: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file of at most `most` bytes.

    UserError if it is missing, larger, cannot be read, or is not a regular file.  A FIFO or a
    device is refused before it can block.
    """
    try:
        # O_NONBLOCK: do not wait for the writer of a FIFO.  A symbolic link is followed.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UserError("not a regular file", file)
            content = stream.read(most + 1)
            if len(content) > most:
                raise UserError(f"too large: right are at most {most} bytes", file)
            return content
    except FileNotFoundError:
        raise UserError("missing", file) from None
    except IsADirectoryError:
        raise UserError("a folder, not a file", file) from None
    except OSError as error:
        raise refusal(error, file) from None
    except ValueError as error:  # a NUL byte in the name
        raise UserError(f"no file name: {error}", file) from None


def read_text(file: Path) -> str:
    """The UTF-8 text in `file`.

    UserError if it cannot be read, or is not UTF-8: then with the line of the first wrong byte.
    """
    return decode(read_bytes(file, MOST_TEXT), file)


def decode(content: bytes, file: Path | str) -> str:
    """`content` as UTF-8 text; UserError, which names `file`, if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"not UTF-8 text: {error.reason}", file, line) from None


def read_json(file: Path) -> Any:
    """The JSON value in `file`; UserError as of `read_text` and `parse_json`."""
    return parse_json(read_text(file), file)


def parse_json(text: str, file: Path | str | None = None, line: int | None = None) -> Any:
    """The value of the JSON `text`.

    UserError with file and line if it is not JSON, has a key twice, a number that does not fit 64
    bits, or too deep a nesting.  `file`, and `line` where `text` begins in it, are for messages.
    """

    def parse() -> Any:
        value = json.loads(
            text,
            object_pairs_hook=_once,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_no_constant,
        )
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value

    try:
        return _bounded(parse)
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON: {error.msg}", file, (line or 1) + error.lineno - 1) from None
    except UnicodeEncodeError:
        raise UserError("not JSON: text with half of a surrogate pair", file, line) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {_reason(error)}", file, line) from None


def parse_toml(text: str, file: Path | str | None = None) -> dict[str, Any]:
    """The tables of the TOML `text`; UserError with `file` and line if it is not TOML."""
    try:
        return _bounded(lambda: tomllib.loads(text, parse_float=_real))
    except (ValueError, RecursionError) as error:
        told = _reason(error)
        place = _TOML_LINE.search(told)
        line = int(place[1]) if place else len(text.splitlines())  # else: "at end of document"
        if not isinstance(error, tomllib.TOMLDecodeError):
            line = 0
        raise UserError(f"not TOML: {_TOML_LINE.sub('', told)}", file, line or None) from None


def _bounded(parse: Callable[[], _Parsed]) -> _Parsed:
    """What `parse` returns; RecursionError if it is nested too deeply."""
    value = parse()
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for container in level for item in _inside(container)]
        if not level:
            return value
    raise RecursionError


def _inside(value: Any) -> list[Any]:
    """The objects and arrays that are elements of `value`."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict | list)]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!a} stands twice")
    return found


def _integer(text: str) -> int:
    if len(text) > _INTEGER_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    value = int(text)
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"the number {text} does not fit 64 bits")
    return value


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is not finite")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"nested more than {MAX_DEPTH} deep"
    return str(error).split(";")[0]
