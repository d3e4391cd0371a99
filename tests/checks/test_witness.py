"""Each rank says where it is, and then is the program that was requested."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reframe.core.exceptions import SanityError

from checks.mixins.witness import Witnessed
from checks.netpipe.reference import NetPIPEReference
from checks.npb.npb import NPBBase
from roundtrip.studies.netpipe.output import Schedule

DATA = Path(__file__).parents[1] / "data"
#: In place of ldd, which knows a program only by its path.
LDD = """\
#!/bin/sh
case $1 in /*) printf '\\tlibmpi.so.40 => {library} (0x7f)\\n' ;; esac
"""
#: In place of NetPIPE: rank 0 writes its table, and an unfinished line to standard error.
NETPIPE = """\
#!/bin/sh
[ "$1 $3 $5 $7" = "-o -l -u -p" ] || exit 1
[ $RANK = 1 ] || { cp {recording} "$2"; printf '  0:       1 bytes   1000 times --> ' >&2; }
"""
#: In place of one of NPB's programs: rank 0 reads standard input and prints its result.
NPB = """\
#!/bin/sh
[ $# = 0 ] || exit 1
[ $RANK = 1 ] || { echo "read $(cat)" >&2; cat {recording}; }
"""


def launched(tmp_path: Path, stderr_text: str, ranks: int, hosts: int) -> SimpleNamespace:
    (tmp_path / "err").write_text(stderr_text)
    return SimpleNamespace(stagedir=tmp_path, stderr="err", num_tasks=ranks, num_hosts=hosts)


def hosts(check: SimpleNamespace) -> list[str]:
    entries: dict[str, list[str]] = Witnessed.identity_entries(check)
    return entries["hosts"]


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
    assert hosts(launch_check) == [platform.node()]


@pytest.mark.parametrize("line", ["{name} => {file}", "{file}"], ids=["linked", "preloaded"])
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
def test_which_library_a_rank_says(tmp_path: Path, name: str, is_mpi: bool, line: str) -> None:
    library = tmp_path / "lib" / name
    library.parent.mkdir()
    library.touch()
    ldd = tmp_path / "ldd"
    found = line.format(name=name, file=library)
    ldd.write_text(f"#!/bin/sh\nprintf '\\tlibc.so.6 => /c (0x1)\\n\\t{found} (0x7f)\\n'\n")
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
    assert hosts(launch_check) == ["odin0", "odin1"]
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
    assert Witnessed.identity_entries(launched(tmp_path, stderr_text, 2, 2)) == {
        "hosts": ["n1.site", "n2"],
        "identity": [
            {
                **{"host": "n1.site", "ranks": [0], "slurm_node": "a1"},
                "file": "/lib/a folder/libmpi.so.40.1",
            },
            {"host": "n2", "ranks": [1], "slurm_node": None, "file": None},
        ],
    }


def test_a_line_behind_the_unfinished_line_of_another_rank_counts(tmp_path: Path) -> None:
    stderr_text = (
        "ROUNDTRIP RANK ON n1 - \n  0:  1 bytes  9 times --> ROUNDTRIP RANK ON n2 - /m.so\n"
    )
    launch_check = launched(tmp_path, stderr_text, 2, 2)
    assert Witnessed.ranks_are_complete(launch_check).evaluate()
    assert Witnessed.identity_entries(launch_check)["identity"][1]["file"] == "/m.so"


class Launch(SimpleNamespace):
    """Two ranks on this machine, of a stand-in for a third-party program."""

    wrap_executable = Witnessed.wrap_executable
    identity_entries = Witnessed.identity_entries
    ranks_are_complete = Witnessed.ranks_are_complete

    def run(self) -> None:
        command = " ".join([self.executable, *self.executable_opts])
        ranks = f"for RANK in 0 1; do export RANK; {command}; done"
        subprocess.run(["bash", "-c", f"{ranks} > out 2> err <<< input"], cwd=self.stagedir)

    def lose_a_rank(self) -> None:
        error_file = self.stagedir / "err"
        error_file.write_text(error_file.read_text().replace("ROUNDTRIP RANK ON", "", 1))


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """With the stand-ins, by their names, in the PATH, and the MPI that they load."""
    folder, library = tmp_path / "a folder", tmp_path / "libmpi.so.40"
    recordings = {"np": "netpipe/NPopenmpi-4.1.4.full.out", "cg.A.x": "npb/cg.A.2.txt"}
    folder.mkdir()
    library.touch()
    for name, program in (("ldd", LDD), ("np", NETPIPE), ("cg.A.x", NPB)):
        text = program.replace("{library}", str(library))
        text = text.replace("{recording}", shlex.quote(str(DATA / recordings.get(name, ""))))
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    files = {"stagedir": tmp_path, "stdout": "out", "stderr": "err"}
    return Launch(**files, simulated=False, num_tasks=2, num_hosts=1)


def test_netpipe_itself_records_where_and_with_what_it_ran(launch: Launch) -> None:
    launch.current_environ = SimpleNamespace(extras={"netpipe_reference": "np"})
    launch.schedule = Schedule
    NetPIPEReference.set_command(launch)
    launch.run()
    NetPIPEReference.convert_output(launch)
    assert NetPIPEReference.reached_the_end(launch).evaluate()
    expect_record(launch, "np")
    launch.lose_a_rank()
    with pytest.raises(SanityError, match="ran with 1 ranks instead of 2"):
        NetPIPEReference.reached_the_end(launch).evaluate()


def test_npb_itself_records_where_and_with_what_it_ran(launch: Launch) -> None:
    program = str(launch.stagedir / "a folder" / "cg.A.x")
    vars(launch).update(source="upstream", measured_program=program, skip_if=lambda *_: None)
    NPBBase.set_command(launch)
    launch.run()
    NPBBase.read_output(launch)
    assert NPBBase.verified(launch).evaluate()
    expect_record(launch, program)
    assert "read input" in (launch.stagedir / "err").read_text().splitlines()
    launch.lose_a_rank()
    with pytest.raises(SanityError, match="ran with 1 ranks instead of 2"):
        NPBBase.verified(launch).evaluate()


def expect_record(launch: Launch, program: str) -> None:
    record = json.loads((launch.stagedir / "run.json").read_text())
    host = platform.node()
    assert (record["command"], record["hosts"]) == ([program], [host])
    library = str(launch.stagedir / "libmpi.so.40")
    assert [rank.pop("slurm_node") for rank in record["identity"]] == [None, None]
    assert record["identity"] == [
        {"host": host, "ranks": [rank], "file": library} for rank in range(2)
    ]
