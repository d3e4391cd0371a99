"""Each rank says where it is, and then is the program that was requested."""

from __future__ import annotations

import platform
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reframe.core.exceptions import SanityError

from checks.mixins.witness import Witnessed


def launched(tmp_path: Path, stderr_text: str, ranks: int, hosts: int) -> SimpleNamespace:
    (tmp_path / "err").write_text(stderr_text)
    check = SimpleNamespace(stagedir=tmp_path, stderr="err", num_tasks=ranks, num_hosts=hosts)
    check.rank_hosts = lambda: Witnessed.rank_hosts(check)
    return check


def run(program: str, words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """One rank of a launch."""
    check = SimpleNamespace(executable=program, executable_opts=[], simulated=False)
    Witnessed.wrap_executable(check)
    command = " ".join([check.executable, *check.executable_opts, words])
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, **options)


def test_the_program_runs_with_its_words_and_output(tmp_path: Path) -> None:
    process = run("printf", shlex.join(["%s-%s", "a b", "$c"]), check=True)
    assert process.stdout == "a b-$c"
    launch_check = launched(tmp_path, "a warning of the MPI\n" + process.stderr, 1, 1)
    assert launch_check.rank_hosts().evaluate() == [platform.node()]


@pytest.mark.parametrize(
    ("name", "is_mpi"),
    [
        ("libmpi.so.40", True),
        ("libmpich.so.12", True),
        ("libmpi_gnu_91.so.12", True),
        ("libmpi_cxx.so.40", False),
        ("libmpichcxx.so.12", False),
    ],
)
def test_which_library_a_rank_says(tmp_path: Path, name: str, is_mpi: bool) -> None:
    library = tmp_path / "lib" / name
    library.parent.mkdir()
    library.touch()
    ldd = tmp_path / "ldd"
    ldd.write_text(
        f"#!/bin/sh\nprintf '\\tlibc.so.6 => /c (0x1)\\n\\t{name} => {library} (0x7f)\\n'\n"
    )
    ldd.chmod(0o755)
    process = run("true", "", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert process.stderr.split()[5:] == ([str(library)] if is_mpi else [])


def test_the_simulator_says_where_it_put_each_rank(tmp_path: Path) -> None:
    job = SimpleNamespace(launcher=SimpleNamespace(options=["--cfg=a:b"]))
    check = SimpleNamespace(executable="osu_bw", executable_opts=["-f"], simulated=True, job=job)
    Witnessed.wrap_executable(check)
    assert [check.executable, *check.executable_opts] == ["osu_bw"]
    assert job.launcher.options == ["--cfg=a:b", "-map", "--log=smpi.thres:info"]
    stderr_text = "".join(f"[0.000000] [smpi/INFO] [rank {n}] -> odin{n}\n" for n in range(2))
    launch_check = launched(
        tmp_path, f"[0.000000] [smpi_config/INFO] You did not set\n{stderr_text}", 2, 2
    )
    assert launch_check.rank_hosts().evaluate() == ["odin0", "odin1"]
    assert Witnessed.ranks_are_complete(launch_check).evaluate()


@pytest.mark.parametrize(
    ("hosts", "fault"),
    [
        (["n1", "n2"], None),
        (["n1", "n1"], "ran on 1 hosts instead of 2"),
        (["n1"], "ran with 1 ranks instead of 2"),
        ([], "ran with 0 ranks instead of 2"),
    ],
)
def test_ranks_and_nodes_are_counted_where_they_ran(
    tmp_path: Path, hosts: list[str], fault: str | None
) -> None:
    stderr_text = "".join(f"ROUNDTRIP RANK ON {host}\n" for host in hosts)
    outcome = Witnessed.ranks_are_complete(launched(tmp_path, stderr_text, 2, 2))
    if fault is None:
        assert outcome.evaluate()
        return
    with pytest.raises(SanityError, match=fault):
        outcome.evaluate()


def test_each_rank_names_its_node_and_the_mpi_that_it_loads(tmp_path: Path) -> None:
    stderr_text = (
        "ROUNDTRIP RANK ON n1.site a1 /lib/a folder/libmpi.so.40.1\nROUNDTRIP RANK ON n2 - \n"
    )
    assert Witnessed.identities(launched(tmp_path, stderr_text, 2, 2)) == [
        {
            **{"host": "n1.site", "ranks": [0], "slurm_node": "a1"},
            "file": "/lib/a folder/libmpi.so.40.1",
        },
        {"host": "n2", "ranks": [1], "slurm_node": None, "file": None},
    ]
