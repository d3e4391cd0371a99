"""Each rank says where it is, and then is the program that was requested."""

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
from checks.netpipe.netpipe import NetPIPEReference
from checks.npb.npb import NPBBase
from roundtrip.studies.netpipe.output import SizeSchedule

DATA = Path(__file__).parents[1] / "data"
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


#: The dynamic loader goes on without it.
NO_WITNESS = SimpleNamespace(program="/a folder/witness.so")


def launched(tmp_path: Path, stderr_text: str, ranks: int, hosts: int) -> SimpleNamespace:
    (tmp_path / "err").write_text(stderr_text)
    return SimpleNamespace(stagedir=tmp_path, stderr="err", num_tasks=ranks, num_hosts=hosts)


def hosts(check: SimpleNamespace) -> list[str]:
    entries: dict[str, list[str]] = Witnessed.rank_entries(check)
    return entries["hosts"]


def run(program: str, words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """One rank of a launch."""
    check = SimpleNamespace(
        executable=program, executable_opts=[], simulated=False, witness=NO_WITNESS
    )
    Witnessed.wrap_executable(check)
    command = " ".join([check.executable, *check.executable_opts, words])
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, **options)


def test_the_program_runs_with_its_words_and_output(tmp_path: Path) -> None:
    process = run("printf", shlex.join(["%s-%s", "a b", "$c"]), check=True)
    assert process.stdout == "a b-$c"
    launch_check = launched(tmp_path, "a warning of the MPI\n" + process.stderr, 1, 1)
    assert hosts(launch_check) == [platform.node()]


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
    assert Witnessed.assert_ranks_complete(launch_check).evaluate()


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
    stderr_text = "".join(line(host, pid, "-") for pid, host in enumerate(hosts))
    outcome = Witnessed.assert_ranks_complete(launched(tmp_path, stderr_text, 2, 2))
    if fault is None:
        assert outcome.evaluate()
        return
    with pytest.raises(SanityError, match=fault):
        outcome.evaluate()


BEGIN = {
    **{"rank": 0, "cpus": [3], "node": {"smt": "off", "logical": 4}},
    "identity": {"library": "MPICH 4", "file": "/a/libmpi.so"},
}
END = {
    "load_average_start": [0.5, 0.4, 0.3],
    "disturbance": {"duration_s": 2.0, "throttled_s": 0.5, "steal_s": 0.25, "load_average": [1.0]},
}


def line(host: str, pid: int, facts: dict[str, Any] | str) -> str:
    text = facts if isinstance(facts, str) else json.dumps(facts)
    return f"ROUNDTRIP RANK ON {host} {pid} {text}\n"


def test_the_lines_of_a_rank_become_entries_of_the_launch(tmp_path: Path) -> None:
    """In the order of ranks; the steal of a host counts once, the load is that of rank 0."""
    long = {**END["disturbance"], "duration_s": 3.0, "load_average": [7.0]}
    stderr_text = (
        line("n1", 8, "a1")
        + line("n1", 7, "a1")
        + line("n1", 8, {**BEGIN, "rank": 1})
        + line("n1", 7, BEGIN)
        + line("n1", 8, {**END, "disturbance": long})
        + line("n1", 7, END)
    )
    place = {"host": "n1", "cpus": [3]}
    software = {"host": "n1", "slurm_node": "a1", **BEGIN["identity"]}
    assert Witnessed.rank_entries(launched(tmp_path, stderr_text, 2, 1)) == {
        "hosts": ["n1"],
        "identity": [{**software, "ranks": [0]}, {**software, "ranks": [1]}],
        "placement": [{**place, "rank": 0}, {**place, "rank": 1}],
        "nodes": [{"host": "n1", "smt": "off", "logical": 4}],
        "disturbance": {
            **{"load_average_start": [0.5, 0.4, 0.3], "load_average_end": [1.0], "steal_s": 0.25},
            **{"duration_s": [2.0, 3.0], "throttled_s": [0.5, 0.5]},
        },
        "elapsed_s": 3.0,
    }


def test_a_rank_that_is_killed_or_static_still_has_a_node(tmp_path: Path) -> None:
    stderr_text = line("n1", 7, BEGIN)[:60] + "\n" + line("n1", 7, "a1") + line("n2", 7, "-")
    launch_check = launched(tmp_path, stderr_text, 2, 2)
    assert Witnessed.assert_ranks_complete(launch_check).evaluate()
    assert Witnessed.rank_entries(launch_check) == {
        "hosts": ["n1", "n2"],
        "identity": [
            {"host": "n1", "ranks": [0], "slurm_node": "a1"},
            {"host": "n2", "ranks": [1], "slurm_node": None},
        ],
        **{"placement": [], "nodes": [], "disturbance": None, "elapsed_s": None},
    }


def test_a_line_behind_the_unfinished_line_of_another_rank_counts(tmp_path: Path) -> None:
    stderr_text = line("n1", 7, "-") + "  0:  1 bytes  9 times --> " + line("n2", 7, "-")
    assert hosts(launched(tmp_path, stderr_text, 2, 2)) == ["n1", "n2"]


class Launch(SimpleNamespace):
    """Two ranks on this machine, of a stand-in for a third-party program."""

    wrap_executable = Witnessed.wrap_executable
    rank_entries = Witnessed.rank_entries
    assert_ranks_complete = Witnessed.assert_ranks_complete

    def run(self) -> None:
        command = " ".join([self.executable, *self.executable_opts])
        ranks = f"for RANK in 0 1; do export RANK; {command}; done"
        subprocess.run(["bash", "-c", f"{ranks} > out 2> err <<< input"], cwd=self.stagedir)

    def lose_a_rank(self) -> None:
        error_file = self.stagedir / "err"
        lines = error_file.read_text().splitlines(keepends=True)
        lines.remove(next(text for text in lines if "ROUNDTRIP RANK ON" in text))
        error_file.write_text("".join(lines))


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """With the stand-ins, by their names, in the PATH."""
    folder = tmp_path / "a folder"
    recordings = {"np": "netpipe/NPopenmpi-4.1.4.full.out", "cg.A.x": "npb/cg.A.2.txt"}
    folder.mkdir()
    for name, program in (("np", NETPIPE), ("cg.A.x", NPB)):
        text = program.replace("{recording}", shlex.quote(str(DATA / recordings[name])))
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    files = {"stagedir": tmp_path, "stdout": "out", "stderr": "err"}
    return Launch(**files, simulated=False, witness=NO_WITNESS, num_tasks=2, num_hosts=1)


def test_netpipe_itself_records_where_and_with_what_it_ran(launch: Launch) -> None:
    launch.current_environ = SimpleNamespace(extras={"netpipe_reference": "np"})
    launch.size_schedule = SizeSchedule
    NetPIPEReference.set_command(launch)
    launch.run()
    NetPIPEReference.convert_output(launch)
    assert NetPIPEReference.assert_sizes_complete(launch).evaluate()
    expect_record(launch, "np")
    launch.lose_a_rank()
    with pytest.raises(SanityError, match="ran with 1 ranks instead of 2"):
        NetPIPEReference.assert_sizes_complete(launch).evaluate()


def test_npb_itself_records_where_and_with_what_it_ran(launch: Launch) -> None:
    program = str(launch.stagedir / "a folder" / "cg.A.x")
    vars(launch).update(source="upstream", measured_program=program, skip_if=lambda *_: None)
    NPBBase.set_command(launch)
    launch.run()
    NPBBase.read_output(launch)
    assert NPBBase.assert_verified(launch).evaluate()
    expect_record(launch, program)
    assert "read input" in (launch.stagedir / "err").read_text().splitlines()
    launch.lose_a_rank()
    with pytest.raises(SanityError, match="ran with 1 ranks instead of 2"):
        NPBBase.assert_verified(launch).evaluate()


def expect_record(launch: Launch, program: str) -> None:
    record = json.loads((launch.stagedir / "run.json").read_text())
    host = platform.node()
    assert (record["command"], record["hosts"]) == ([program], [host])
    assert record["identity"] == [
        {"host": host, "ranks": [rank], "slurm_node": None} for rank in range(2)
    ]
