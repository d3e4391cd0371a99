"""The command line in this process."""

from __future__ import annotations

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from typing import NamedTuple

import pytest

from roundtrip import cli


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def roundtrip(*arguments: object, columns: str = "1000") -> Done:
    """How ``roundtrip`` ends in a terminal so wide; with "", without a terminal."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as exit_info,
    ):
        patch.setattr(sys, "argv", ["roundtrip", *map(str, arguments)])
        patch.delenv("COLUMNS", raising=False)
        if columns:
            patch.setenv("COLUMNS", columns)
        cli.main()
    texts = (stream.buffer.getvalue().decode() for stream in (out, err))
    return Done(int(exit_info.value.code or 0), *texts)
