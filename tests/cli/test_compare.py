"""``roundtrip compare``: its exit statuses, its files, and one line for bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import answer
from support.synthetic import Tree
from typer.testing import CliRunner, Result

from roundtrip.cli import app
from roundtrip.cli import compare as command
from roundtrip.errors import UserError

OPENMPI, MPICH = "openmpi41-boost181", "mpich40-boost181"


@pytest.fixture
def tree(make_tree: Callable[..., Tree]) -> str:
    return str(make_tree(launches=10, steady=True, environs=(OPENMPI, MPICH)).path)


def compare(*arguments: str) -> Result:
    assert command
    return CliRunner().invoke(app, ["compare", *arguments])


@pytest.mark.parametrize(("sides", "status"), [((OPENMPI, MPICH), 1), ((MPICH, OPENMPI), 0)])
def test_two_toolchains_of_a_tree(tree: str, sides: tuple[str, str], status: int) -> None:
    result = compare(tree, "--toolchains", *sides)
    assert result.exit_code == status, result.output
    assert "series compared" in result.stdout
    sources = [f"{tree}:toolchain={name}" for name in sides]
    assert compare(*sources).stdout == result.stdout


def test_by_a_key_that_has_two_values(tree: str) -> None:
    result = compare(tree, "--by", "toolchain", "--format", "json")
    assert answer("compare", result.stdout)["base"]["chosen"] == {"toolchain": MPICH}


def test_a_file_gets_what_the_terminal_would(tree: str, tmp_path: Path) -> None:
    arguments = (tree, "--toolchains", OPENMPI, MPICH, "--format", "junit")
    result = compare(*arguments, "--output", str(tmp_path / "junit.xml"))
    assert result.stdout == ""
    assert (tmp_path / "junit.xml").read_text() == compare(*arguments).stdout


def test_the_least_regression_that_fails(tree: str) -> None:
    arguments = (tree, "--toolchains", OPENMPI, MPICH, "--fail-on")
    assert compare(*arguments, "90%").exit_code == 0
    assert compare(*arguments, "5 %").exit_code == 1


def test_nothing_comparable_is_not_green(make_tree: Callable[..., Any], tree: str) -> None:
    other = make_tree("other", launches=10, environs=(OPENMPI,), mode="stream")
    result = compare(tree, str(other.path))
    assert result.exit_code == 2
    assert "nothing is comparable" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "one source: name a second one"),
        (["--by", "colour"], "legal are toolchain, mpi"),
        (["--by", "boost"], "has 1 values of boost, not two"),
        (["x", "--by", "boost"], "leave NEW out"),
        (["--toolchains", OPENMPI, "nope"], "no launch with toolchain=nope"),
        (["--toolchains", OPENMPI, MPICH, "--fail-on", "3"], "a percentage above 0"),
        (["--toolchains", OPENMPI, MPICH, "--fail-on", "100%"], "a percentage above 0"),
        (["nowhere"], "there is no such report"),
    ],
)
def test_bad_input_fails(tree: str, arguments: list[str], complaint: str) -> None:
    result = compare(tree, *arguments)
    assert isinstance(result.exception, UserError)
    assert complaint in str(result.exception)
