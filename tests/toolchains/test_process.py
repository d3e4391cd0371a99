from __future__ import annotations

from pathlib import Path

import pytest

from roundtrip.toolchains.process import BuildError, clean_environment, run


def test_output_is_returned_and_logged(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run("saying", ["sh", "-c", "echo out; echo err >&2"], log) == "out\nerr\n"
    assert log.read_text() == "$ sh -c 'echo out; echo err >&2'\nout\nerr\n"


def test_failure_shows_its_own_last_lines_and_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run("other", ["echo", "unrelated"], log)
    with pytest.raises(BuildError) as caught:
        run("counting", ["sh", "-c", "seq 1 100; exit 3"], log)
    text = caught.value.explain(lines=2)
    assert text == f"99\n100\ncounting failed (status 3); whole log: {log}"
    assert "unrelated" in log.read_text()


@pytest.mark.parametrize(
    ("command", "reason"),
    [(["sleep", "9"], "no end after 0 s"), (["/no/such/program"], "No such file or directory")],
)
def test_no_end_and_no_program(tmp_path: Path, command: list[str], reason: str) -> None:
    with pytest.raises(BuildError, match=reason):
        run("it", command, tmp_path / "log", timeout=0.2)


def test_surrounding_jobs_and_flags_do_not_reach_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_CXX", "PMI_RANK", "SLURM_JOB_ID", "CXXFLAGS", "LD_LIBRARY_PATH", "CPATH"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    environment = clean_environment()
    assert "x" not in environment.values()
    assert environment["LANG"] == "C.UTF-8"
