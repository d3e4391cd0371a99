"""`site check --live`: what ranks said, what is wrong with it, and what mends the site."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.programs import write_script

from roundtrip.cli import setup as command
from roundtrip.errors import UserError
from roundtrip.sites import check, launching, schedulers, trials
from roundtrip.sites.check import LiveCheckResult, lines_for_launcher
from roundtrip.sites.site_file import SettingLine, apply_lines
from roundtrip.sites.trials import TrialTarget

SLURM = schedulers.SCHEDULERS[0]
#: Of Open MPI 4.1.4 by srun on two nodes, with and without UCX; of MPICH 5.0.2 with UCX.
OB1 = """\
[a1:00081] mca: bml: Using self btl for send to [[29191,2673],0] on node a1
[a1:00081] mca: bml: Using tcp btl for send to [[29191,2673],1] on node a2
"""
UCX = """\
ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: tag(self/memory0 cma/memory)
ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(tcp/eth1)
"""
NEWER_UCX = """\
ucp_worker.c:1912 UCX  INFO    ucp_context_0 self cfg#0 tag(self/memory cma/memory)
ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 tag(rc_mlx5/mlx5_0:1)  am(tcp/eth1)
"""
CORE = {"binding": "core", "fabric": "infiniband"}


def rank(number: int, **fields: Any) -> dict[str, Any]:
    return {
        **{"rank": number, "ranks": 2, "host": f"a{number + 1}", "cpus": "0", "online": "0-1"},
        **{"memlock": "unlimited      unlimited      bytes", "mpi": "Open MPI v4.1.4"},
        "pmi": {"PMI_RANK": "", "PMIX_NAMESPACE": "slurm.pmix.6.0", "PMIX_VERSION": "4.2.2rc2"},
        "pmix_client": "OpenPMIx 5.0.1 (PMIx Standard: 4.2)",
        **fields,
    }


def said(*ranks: dict[str, Any], errors: str = "") -> trials.TrialOutput:
    lines = "".join(f"\nROUNDTRIP SEES {json.dumps(fields)}" for fields in ranks)
    return trials.parse_trial_output(f"a line before{lines}\nand one after", errors)


def test_ranks_are_read_also_where_their_lines_run_together() -> None:
    output = said(rank(1), rank(0), errors=OB1)
    assert [item.rank for item in output.ranks] == [0, 1]
    assert output.hosts == ["a1", "a2"]
    assert output.ranks[0].process_manager == "PMIx client 5.0.1, server 4.2.2rc2"
    assert output.ranks[0].memlock == "unlimited"
    text = f"ROUNDTRIP SEES {json.dumps(rank(0))}ROUNDTRIP SEES {json.dumps(rank(1))} and"
    assert len(trials.parse_trial_output(text + ' ROUNDTRIP SEES {"rank": 3, "ran', "").ranks) == 2


@pytest.mark.parametrize(
    ("errors", "transports"),
    [(OB1, ("tcp",)), (UCX, ("tcp/eth1",)), (NEWER_UCX, ("rc_mlx5/mlx5_0:1",)), ("", ())],
    ids=["ob1", "ucx 1.13", "ucx 1.19", "nothing said"],
)
def test_the_transport_is_what_the_mpi_names(errors: str, transports: tuple[str, ...]) -> None:
    assert said(rank(0), rank(1), errors=errors).transports == transports


@pytest.mark.parametrize(
    ("ranks", "complaint"),
    [
        ([rank(0), rank(1)], None),
        ([rank(0, ranks=1), rank(0, ranks=1, host="a2")], "starts 2 programs of one rank"),
        ([rank(0)], "1 of 2 ranks reported"),
        ([rank(0), rank(1, host="a1")], "both ranks are on a1, not on 2 nodes"),
    ],
)
def test_what_is_no_start_fails(ranks: list[dict[str, Any]], complaint: str | None) -> None:
    fault = trials.start_fault(said(*ranks), nodes=2)
    assert fault == complaint if complaint is None else fault and fault.startswith(complaint)
    assert trials.start_fault(None, 2) == "does not start"


def test_binding_is_what_proc_says() -> None:
    assert trials.binding_fault(said(rank(0), rank(1)), CORE) is None
    output = said(rank(0), rank(1, cpus="0-1"))
    assert trials.binding_fault(output, CORE) == "rank 1 is not bound: it may run on 0-1 of 0-1"
    assert trials.binding_fault(output, {"binding": "none"}) is None
    shared_output = said(rank(0), rank(1, host="a1"))
    assert trials.binding_fault(shared_output, CORE) == "both ranks are bound to 0"


def test_rdma_needs_pinned_memory() -> None:
    output = said(rank(0), rank(1, memlock="65536   65536  bytes"))
    (fault,) = trials.node_faults(output, CORE, "slurmd")
    assert fault.startswith("a2 lets a rank pin 65536 bytes: RDMA needs `unlimited`")
    assert trials.node_faults(output, {"fabric": "ethernet"}, "slurmd") == []


SITE = """\
base = "tcp" # of the site
software = "toolchains"

[values]
interface = "eth0" # a guess

[launch.mpich]
launcher = "srun"
pmi = "pmix" # wrong

[partition.x]
name = "x"
"""


def test_lines_are_written_where_they_belong_and_comments_stay() -> None:
    lines = [
        SettingLine("values", "interface", "eth1"),
        *lines_for_launcher("mpich", ("srun", "--mpi=pmi2")),
        *lines_for_launcher("openmpi", ("mpirun", "--bind-to", "core")),
        SettingLine("every_partition", "scheduler", "squeue"),
        SettingLine("", "pmix", "5"),
    ]
    text = apply_lines(SITE, lines)
    content = tomllib.loads(text)
    assert content["pmix"] == "5"
    assert content["values"] == {"interface": "eth1"}
    assert content["launch"]["mpich"] == {"launcher": "srun", "pmi": "pmi2", "options": []}
    openmpi = {"launcher": "mpirun", "options": ["--bind-to", "core"]}
    assert content["launch"]["openmpi"] == openmpi
    assert content["every_partition"] == {"scheduler": "squeue"}
    assert content["partition"] == {"x": {"name": "x"}}
    assert "# of the site" in text
    assert apply_lines(text, lines) == text
    assert str(lines[0]) == '[values] interface = "eth1"'


ARRAY = """\
[launch.mpich]
launcher = "mpirun"
options = [ # of this machine
    "--bind-to", "core",

    "--map-by", "]",
] # all
# next
[values]
interface = "eth0"
"""


def test_an_array_of_several_lines_is_replaced_as_a_whole() -> None:
    text = apply_lines(ARRAY, lines_for_launcher("mpich", ("srun", "--mpi=pmi2")))
    assert tomllib.loads(text) == {
        "launch": {"mpich": {"launcher": "srun", "pmi": "pmi2", "options": []}},
        "values": {"interface": "eth0"},
    }
    assert "# next\n[values]" in text


@pytest.mark.parametrize(
    "text",
    [
        '[launch]\nmpich = {launcher = "srun"}\n',
        'launch.mpich.launcher = "srun"\n',
        '[x]\ny = """\n[launch.mpich]\n"""\n',
    ],
)
def test_a_site_that_cannot_be_mended_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = tmp_path / "site.toml"
    file.write_text(text)
    result = LiveCheckResult()
    result.add_fault("mpich40", "no", lines_for_launcher("mpich", ("mpiexec", "-bind-to", "core")))
    monkeypatch.setattr(command, "check_live", lambda *_: result)
    site: Any = SimpleNamespace(name="mine", checkout=tmp_path, folder=tmp_path)
    wanted = r'edit it by hand so that it has: \[launch.mpich\] launcher = "mpiexec", '
    with pytest.raises(UserError, match=wanted):
        command._check_live(site, write=True, status=1)
    assert file.read_text() == text


def test_every_way_to_start_an_mpi_is_one_that_srun_offers_or_its_own() -> None:
    assert launching.launcher_commands("mpich", SLURM, ["pmi2", "none"]) == [
        ("srun", "--mpi=pmi2"),
        ("mpiexec", "-bind-to", "core"),
    ]
    assert launching.launcher_commands("openmpi", SLURM, []) == [("mpirun", "--bind-to", "core")]
    (own,) = launching.launcher_commands("mpich", schedulers.NO_SCHEDULER, ["pmi2"])
    assert own[0] == "mpiexec"


@pytest.mark.parametrize(
    ("scheduler", "status", "verdicts"),
    [
        ("slurm", 0, ["ok", "not checked"]),
        ("slurm", 1, ["fault"]),
        ("squeue", 1, ["ok", "not checked"]),
        ("local", 1, ["not checked"]),
    ],
)
def test_a_scheduler_that_needs_accounting_is_not_tried_without(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheduler: str,
    status: int,
    verdicts: list[str],
) -> None:
    """ReFrame's `slurm` would end the session, and say that it passed."""
    write_script(tmp_path / "sacct", f"exit {status}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    partition = {"scheduler": scheduler, "environs": [], "extras": {}}
    site: Any = SimpleNamespace(partitions={"x": partition}, toolchains={})
    result = check.check_live(site, print)
    assert [item.verdict for item in result.findings] == verdicts
    expected = (
        [SettingLine("every_partition", "scheduler", "squeue")] if verdicts == ["fault"] else []
    )
    assert result.lines == expected


def test_a_job_is_named_before_it_waits_in_a_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(trials, "_run_trial_cases", lambda *_: steps.append("submitted") or [])
    places = [TrialTarget("ib", "openmpi41-boost181"), TrialTarget("ib", "mpich40-boost181")]
    site: Any = SimpleNamespace()
    trials.run_trials(site, [(place, [()]) for place in places], steps.append)
    trials.run_trials(site, [(places[1], [("srun", "--mpi=pmi2"), ("mpiexec",)])], steps.append)
    assert steps == [
        "jobs to ib, one after another: openmpi41-boost181, mpich40-boost181",
        "submitted",
        "jobs to ib, one after another: mpich40-boost181, each by srun --mpi=pmi2 and mpiexec",
        "submitted",
    ]


#: MPICH's error is the last of its stack.
STACK = """\
Abort(100): Fatal error in internal_Init: Internal MPI error!, error stack:
internal_Init(70)...............: MPI_Init(argc=0x7ffc, argv=0x7ffc) failed
MPII_Init_thread(232)...........:
check_MPIR_CVAR_PMI_VERSION(167):  Runtime environment uses unsupported PMI version PMIx.
srun: error: a1: task 0: Exited with exit code 16
"""


@pytest.mark.parametrize(
    ("job", "reframe", "reason"),
    [
        ("srun: error: no room\nwell\n", "job failed", "srun: error: no room"),
        ("well\n", "\njob exceeded its time limit\n  more", "job exceeded its time limit"),
        ("", None, "it wrote nothing"),
        (STACK, None, "Runtime environment uses unsupported PMI version PMIx."),
    ],
)
def test_a_trial_failed_for_what_its_job_says_or_else_reframe(
    job: str, reframe: str | None, reason: str
) -> None:
    streams = dict.fromkeys(("build_stdout", "build_stderr", "job_stdout"), "")
    assert trials._failure_reason({**streams, "job_stderr": job, "fail_reason": reframe}) == reason


@pytest.mark.parametrize(("mends", "tries", "status"), [(True, 2, 0), (False, 2, 1)])
def test_what_was_written_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mends: bool, tries: int, status: int
) -> None:
    """Once: what does not mend the site is not written for ever."""
    (tmp_path / "site.toml").write_text('base = "tcp"\n')
    lines = lines_for_launcher("mpich", ("mpiexec", "-bind-to", "core"))
    results = []

    def play(*_: object) -> LiveCheckResult:
        result = LiveCheckResult()
        if not results or not mends:
            result.add_fault("mpich40", "does not start", lines)
        results.append(result)
        return result

    monkeypatch.setattr(command, "check_live", play)
    monkeypatch.setattr(command, "Site", lambda *_: site)
    monkeypatch.setattr(command, "check_site", lambda *_: [])
    site: Any = SimpleNamespace(name="mine", checkout=tmp_path, folder=tmp_path)
    # 1: a fault until it is mended.
    assert command._check_live(site, write=True, status=1) == status
    assert len(results) == tries
    assert tomllib.loads((tmp_path / "site.toml").read_text())["launch"]["mpich"] == {
        "launcher": "mpiexec",
        "options": ["-bind-to", "core"],
    }


@pytest.mark.parametrize(("scheduler", "forbidden"), [("squeue", True), ("local", False)])
def test_a_job_that_slurm_cannot_launch_is_not_held_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str, forbidden: bool
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(stdout="", stderr="no")

    monkeypatch.setattr(trials.subprocess, "run", run)
    site: Any = SimpleNamespace(
        name="mine",
        checkout=tmp_path,
        environment={"RFM_PREFIX": str(tmp_path / "by-hand")},
        partitions={"x": {"scheduler": scheduler}},
    )
    with pytest.raises(UserError, match="ReFrame tried nothing: no"):
        trials.collect_interfaces(site, TrialTarget("x", "mpich40"), print)
    assert ("--job-option=--no-requeue" in commands[0]) == forbidden
