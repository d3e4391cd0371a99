"""``roundtrip blame`` to its end, with launches that the test plays: the variables of an arm decide
how fast they are."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.synthetic import TOOLCHAINS, Tree
from typer.testing import CliRunner, Result

from roundtrip.cause import steps
from roundtrip.cause.steps import SeriesStep, Switch
from roundtrip.cli import app, cause
from roundtrip.measure import environment, matrix, session
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.report import publish
from roundtrip.report.pages.series import Change
from roundtrip.sites.site import Case

NAME, OLD = "openmpi41-boost181", "mpich40-boost181"
PARAMETERS = (("mode", "pingpong"), ("placement", "shared-memory"))
CAUSE = Switch("SLOW", None, "1")
SWITCHES = (Switch("A", "1", "2"), CAUSE, Switch("B", None, "x"))
SERIES = {
    **{"case": "pingpong/same", "variant": "mpi", "size_bytes": 65536, "phase": "measure"},
    "metric": "half_round_trip_time",
}


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    for name in ("RUNS", "REPORTS"):
        monkeypatch.setenv(f"ROUNDTRIP_{name}", str(tmp_path / name.lower()))
    rng = np.random.default_rng(1)
    case = Case("NetPIPE", PARAMETERS, "26ad4637", "local", "smp", NAME)
    cases = (case, replace(case, environ=OLD))
    plan = Matrix(tuple(ExpectedCase(case, "netpipe.py", (), "netpipe") for case in cases), ())
    series = SimpleNamespace(names={**SERIES, "case_id": case.id}, lower_is_better=True)
    line = SimpleNamespace(label="mpi, 64 KiB", series=series)
    step = SeriesStep(
        "ab", line, "2026-11-20T01:00:00Z", 0.2, 0.02, SWITCHES, (("kernel", "boot"),)
    )  # type: ignore[arg-type]
    toolchains = dict(TOOLCHAINS)

    def launch(site: object, block: Sequence[ExpectedCase], folder: Path, *_: object) -> float:
        script = shlex.split(dict(block[0].variables)["prerun_cmds"])[1]
        slow = 1.5 if "export SLOW=1" in Path(script).read_text() else 1.0
        environ = block[0].case.environ
        title, latency, boost, per_byte, *others = toolchains[environ]
        speeds = (title, slow * latency, boost, slow * per_byte, *others)
        monkeypatch.setitem(TOOLCHAINS, environ, speeds)
        tree = Tree(folder.parents[1], sizes=[65536], samples=5, steady=True)
        tree.launch(int(folder.name), environ, rng)
        return 0.0

    def build(site: object, expected: object, root: object, progress: object) -> None:
        folder = root.next_build()  # type: ignore[attr-defined]
        (folder / "session.json").write_text('{"exit_status": 0}')

    site = SimpleNamespace(
        **{"name": "local", "spack": None, "environment": {}, "toolchains": toolchains},
        **{"partitions": {"smp": {"scheduler": "local"}}, "checkout": Path.cwd()},
    )
    monkeypatch.setattr(cause, "Site", lambda name, checkout: site)
    monkeypatch.setattr(matrix, "build_matrix", lambda campaign, site: plan)
    monkeypatch.setattr(environment, "record_environment", lambda *_: None)
    monkeypatch.setattr(session, "build_all", build)
    monkeypatch.setattr(session, "run_session", launch)

    def run(*arguments: str, **changes: object) -> Result:
        monkeypatch.setattr(steps, "find", lambda *_: replace(step, **changes))
        monkeypatch.setattr(sys, "argv", ["roundtrip", "blame", "mpi", *arguments])
        return CliRunner().invoke(app, ["blame", "mpi", *arguments])

    return run


@pytest.mark.nightly
def test_the_cause_is_named_and_its_report_verified(played: Callable[..., Result]) -> None:
    result = played()
    assert result.exit_code == 0, result.output
    assert f"{CAUSE.name} explains " in result.output
    assert "Cannot be switched from here" in result.output and "kernel" in result.output
    assert "to accept it: roundtrip history local --accept" in result.output
    page = Path(result.output.split("report: ")[1].splitlines()[0])
    assert publish.verify(page.parent) == []
    assert CAUSE.name in page.read_text()


#: What `OLD` stands for: a fact that nothing but another toolchain can switch.
OTHER_MPI = steps.split([Change(NAME, "MPI library", "MPICH 4.0", "Open MPI 4.1")])[1]


@pytest.mark.nightly
def test_the_toolchain_of_before_is_switched_like_a_variable(played: Callable[..., Result]) -> None:
    facts = {"switches": (SWITCHES[0], SWITCHES[2]), "others": OTHER_MPI, "log_ratio": -0.15}
    result = played(f"--old-toolchain={OLD}", **facts)
    assert result.exit_code == 0, result.output
    assert f"toolchain {OLD} \N{RIGHTWARDS ARROW} {NAME} explains " in result.output
    assert "Cannot be switched" not in result.output


def test_the_command_that_goes_on_asks_for_the_same_step_for_as_long(
    played: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "run_session", stop)
    result = played("ab", "--budget", "3h")
    assert result.exit_code == 130, result.output
    command = "roundtrip blame mpi ab --budget 3h --night=2026-11-20 --site=local --resume\n"
    assert f"Go on with: {command}" in result.stderr
    again = played(*shlex.split(command)[3:])
    assert f"Go on with: {command}" in again.stderr


def test_a_toolchain_that_is_not_installed_is_one_line(played: Callable[..., Result]) -> None:
    result = played("--old-toolchain=gone", others=OTHER_MPI)
    assert "unknown toolchain 'gone'; site 'local' has: mpich40" in str(result.exception)
