"""The command line, in this process or in one of its own, and its answers as JSON."""

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from roundtrip import cli
from support.programs import CHECKOUT


class CommandResult(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run_roundtrip(*arguments: object, columns: str = "1000") -> CommandResult:
    """Run ``roundtrip`` in this process, with COLUMNS=`columns`, or unset for ""."""
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
    return CommandResult(int(exit_info.value.code or 0), *texts)


def start_roundtrip(environment: Mapping[str, str], *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["roundtrip", *map(str, arguments)],
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def await_result(process: subprocess.Popen[str]) -> CommandResult:
    """Wait for a process, at most 20 minutes; return its result."""
    out, err = process.communicate(timeout=1200)
    return CommandResult(process.returncode, out, err)


def parse_answer(command: str, printed: str) -> Any:
    """Parse the JSON that a command printed, and validate it by ``roundtrip schema``."""
    schema = json.loads(CliRunner().invoke(cli.app, ["schema", command]).stdout)
    Draft202012Validator.check_schema(schema)
    content = json.loads(printed)
    Draft202012Validator(schema).validate(content)
    return content
