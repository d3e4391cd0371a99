"""From a step of real nights to what can be switched, and launches of it that Slurm prevents."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from typer.testing import CliRunner

from roundtrip import paths
from roundtrip.cause import checks, facts, journal, steps
from roundtrip.cause.checks import Checks, StepCase
from roundtrip.cause.journal import Entry, Journal
from roundtrip.cause.steps import SeriesStep, Switch
from roundtrip.cli import app, cause  # noqa: F401  blame registers itself
from roundtrip.content.series import NODE_SET_FACT, FactChange
from roundtrip.errors import UserError
from roundtrip.history import ledger
from roundtrip.measure import pseudonyms, round_robin, scheduler, session
from roundtrip.measure.launch import Launch, Status
from roundtrip.measure.matrix import ExpectedCase
from roundtrip.measure.tree import RunTree
from roundtrip.sites.schedulers.interface import NoAnswerError, Node

SAMPLE = paths.checkout() / "samples" / "sixty-nights"
SITE = "emulated-pair"
STEPPED = "mpi, 16 KiB"


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tables = [pl.read_parquet(SAMPLE / f"{name}.parquet") for name in ("nights", "provenance")]
    site_ledger = ledger.Ledger(tables[0], tables[1], ())
    monkeypatch.setattr(ledger, "read_ledger", lambda *_: site_ledger)
    monkeypatch.setenv("ROUNDTRIP_REPORTS", str(tmp_path))
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))
    (tmp_path / "sixty-nights" / SITE).mkdir(parents=True)
    return tmp_path


@pytest.mark.nightly
def test_the_planted_variable_can_be_switched(nights: Path) -> None:
    step = steps.find(SITE, STEPPED, "", None, nights)
    assert [switch.variable for switch in step.switches] == ["OMPI_MCA_btl_tcp_eager_limit"]
    assert step.switches[0].old is None and step.switches[0].new == "4096"
    assert step.log_ratio > 0.05 and 0 < step.noise < 0.2
    assert not any(name.startswith("site configuration") for name, _ in step.others)


@pytest.mark.nightly
def test_a_night_searches_for_each_step_until_a_round_was_launched(nights: Path) -> None:
    step = steps.largest_unexplained(SITE, "sixty-nights", (), nights)
    assert step is not None
    assert [switch.variable for switch in step.switches] == ["OMPI_MCA_btl_tcp_eager_limit"]
    folder = nights / "blame-sixty-nights" / SITE / "2026-11-20" / "r1" / "bundle"
    search_journal = Journal(folder)
    search_journal.begin(steps.plan_blame(step, SITE))
    for at in range(facts.LAUNCHES_A_ROUND):
        search_journal.add(Entry(round=1, at=at, why="Slurm is down"))
    again = steps.largest_unexplained(SITE, "sixty-nights", (), nights)
    assert again is not None and again.title == step.title
    for at in range(facts.LAUNCHES_A_ROUND):
        search_journal.add(Entry(round=2, at=at, value=1.0))
    other_step = steps.largest_unexplained(SITE, "sixty-nights", (), nights)
    assert other_step is None or (
        other_step.title != step.title and abs(other_step.log_ratio) <= abs(step.log_ratio)
    )


def test_a_budget_that_cannot_suffice_is_refused() -> None:
    journal.require_budget(5, 0.0, 6)
    journal.require_budget(60, 59, 6)
    with pytest.raises(UserError, match="at least 60 are needed; right is more than 61 min"):
        journal.require_budget(60, 61, 6)


def test_a_series_without_a_step_and_one_that_is_not_there_are_one_line(nights: Path) -> None:
    for series, night, complaint in (
        ("nope", "", "no series of site"),
        (STEPPED, "1999-01-01", "no step began then; right is one of: 2026"),
        ("mpi, 1 B", "", "no step in"),
        ("mpi", "", "series with a step have"),
    ):
        with pytest.raises(UserError, match=complaint):
            steps.find(SITE, series, night, None, nights)


def test_the_command_says_what_it_would_launch(nights: Path) -> None:
    result = CliRunner().invoke(app, ["blame", STEPPED, "--site", SITE, "--dry-run"])
    assert result.exit_code == 0, result.output
    assert "can be switched: OMPI_MCA_btl_tcp_eager_limit not set → 4096" in result.output
    assert "expected: about" in result.output
    assert not (nights / "runs").exists()


def test_facts_are_split_by_what_can_be_set_from_here() -> None:
    switches, others = steps.split(
        [
            FactChange("openmpi41", "variable OMPI_MCA_btl", "not set", "tcp,self"),
            FactChange("", "UCX_TLS of partition batch", "all", "not set"),
            FactChange("", "access of partition batch", "a", "b"),
            FactChange("", "kernel", "6.1.0-20", "6.1.0-21"),
            FactChange("openmpi41", "MPI version", "4.1.4", "4.1.6"),
            FactChange("openmpi41", "variable LONG", "x", "y... (0123456789ab)"),
            FactChange("openmpi41", "variable MINE", "not set", "private-0123456789ab"),
            FactChange("", "site configuration", "aa", "bb"),
            FactChange(
                "", NODE_SET_FACT, "node-0000000a, node-0000000b", "node-0000000a, node-0000000c"
            ),
            FactChange("", NODE_SET_FACT, "cn01", "node-0000000a"),
            FactChange("openmpi41", "launcher options", "--bind-to core", "not set"),
            FactChange("openmpi41", "binding", "0: 0; 1: 1", "0: any; 1: any"),
        ]
    )
    assert switches == (
        Switch("OMPI_MCA_btl", None, "tcp,self"),
        Switch("UCX_TLS", "all", None),
        Switch(NODE_SET_FACT, "node-0000000a, node-0000000b", "node-0000000a, node-0000000c"),
        Switch("launcher options", "--bind-to core", None),
    )
    assert [name.partition(":")[0] for name, _ in others] == [
        *("access of partition batch", "kernel", "MPI version (openmpi41)"),
        *("variable LONG (openmpi41)", "variable MINE (openmpi41)"),
        NODE_SET_FACT,
    ]
    assert "roundtrip nodes" in dict(others)[others[1][0]]
    assert "--old-toolchain" in dict(others)[others[2][0]]


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (FactChange("a", "variable SLURM_CPU_BIND", "cores", "none"), False),
        (FactChange("a", "variable UCX_TLS", "all", "tcp"), True),
        (FactChange("a", "launcher options", "--rankfile private-0123456789ab", "-n 2"), True),
    ],
)
def test_a_binding_that_follows_is_not_named(change: FactChange, is_named: bool) -> None:
    _, others = steps.split([change, FactChange("a", "binding", "0: 0; 1: 1", "0: any; 1: any")])
    assert ("binding" in {name.split()[0] for name, _ in others}) is is_named


def test_a_toolchain_of_before_stands_for_what_installing_it_would_test() -> None:
    changes = [
        FactChange("new", "MPI version", "4.1.4", "4.1.6"),
        FactChange("", "kernel", "6.1.0-20", "6.1.0-21"),
        FactChange("new", "Spack hash", "abc", "def"),
    ]
    switches, others = steps.split(changes)
    series = SimpleNamespace(data=SimpleNamespace(identity={"case_id": "NetPIPE/a=b@s:p+new"}))
    step = SeriesStep("c", series, "2026-11-20T01:00:00Z", 0.2, 0.02, switches, others)  # type: ignore[arg-type]
    toolchain_step = steps.with_toolchain(step, "old")
    assert toolchain_step.switches == (Switch(steps.TOOLCHAIN, "old", "new"),)
    assert toolchain_step.switches[0].name == "toolchain old \N{RIGHTWARDS ARROW} new"
    assert [name.partition(":")[0] for name, _ in toolchain_step.others] == ["kernel"]
    assert checks.arm_script(toolchain_step.switches, frozenset()) == ""
    with pytest.raises(UserError, match="--old-toolchain old: nothing of new differs since 2026"):
        steps.with_toolchain(toolchain_step, "old")
    with pytest.raises(UserError, match="--old-toolchain new: it is the one of this series"):
        steps.with_toolchain(step, "new")


def test_only_nodes_in_use_are_switched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path))
    node_list = [Node("n1.x", "idle"), Node("n2", "mixed"), Node("n3", "down", down_reason="down")]
    pseudonym = {"node-0000000a": "n1", "node-0000000b": "n2", "node-0000000c": "n3"}
    monkeypatch.setattr(round_robin, "collect_listed_nodes", lambda site, names: {"p": node_list})
    host_names = pseudonyms.HostNames(pseudonym, has_key=True)
    monkeypatch.setattr(pseudonyms, "collect_host_names", lambda site, runs: host_names)
    site, case = SimpleNamespace(name="s"), SimpleNamespace(partition="p")
    item = SimpleNamespace(case=case, node_count=2)
    good, down = "node-0000000a, node-0000000b", "node-0000000b, node-0000000c"
    switch = Switch(NODE_SET_FACT, good, down)
    hosts = checks.find_hosts(site, item, [switch])  # type: ignore[arg-type]
    assert hosts == {good: ("n1.x", "n2")}
    assert checks.arm_script([switch], frozenset()) == ""


def test_facts_that_contradict_each_other_are_refused() -> None:
    first = FactChange("x", "variable A", "1", "2")
    with pytest.raises(UserError, match="contradict each other: A 1 → 2, and A 1 → 3"):
        steps.split([first, FactChange("", "A of partition p", "1", "3")])


def test_the_script_of_an_arm_sets_each_variable_to_its_value() -> None:
    switches = (Switch("A", None, "it's"), Switch("B", "1", None))
    old, new = frozenset[str](), frozenset(switch.name for switch in switches)
    assert checks.arm_script(switches, old) == "unset A\nexport B=1\n"
    assert checks.arm_script(switches, new) == "export A='it'\"'\"'s'\nunset B\n"
    assert checks.arm_script(switches, frozenset([switches[0].name])).endswith("export B=1\n")


Ends = tuple[tuple[Status, str], ...]
Launched = Callable[..., list[str]]


@pytest.fixture
def launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Launches an arm whose launches end one after another as said; returns why it paused."""

    def run(ends: Ends, manager: str = "slurm", pauses: int = 9, log: str = "") -> list[str]:
        rest: Iterator[tuple[Status, str]] = iter(ends)
        reasons = list[str]()

        def take(self: object, reason: str) -> bool:
            reasons.append(reason)
            return len(reasons) <= pauses

        def scan(place: Path) -> list[Launch]:
            folder = max((place / "rounds").iterdir())
            return [Launch("id", "case", *next(rest), folder.name, "gnu")]

        monkeypatch.setattr(session, "run_session", lambda *_: 0.0)
        monkeypatch.setattr(checks, "scan_launches", scan)
        monkeypatch.setattr(scheduler.RoundPauses, "sleep", take)
        case = SimpleNamespace(partition="p")
        item = ExpectedCase(case, "netpipe.py", (), "netpipe")  # type: ignore[arg-type]
        site = SimpleNamespace(name="s", environment={}, partitions={"p": {"scheduler": manager}})
        root = tmp_path / "a" / "s" / "now"
        root.mkdir(parents=True)
        (root / scheduler.LOG_FILE).write_text(log)
        monkeypatch.setattr(Checks, "_tree", lambda *_: RunTree(root))
        step = SimpleNamespace(switches=[Switch("A", "1", "2")], series=SimpleNamespace(data=None))
        launcher = Checks(site, StepCase(step, item), RunTree(root), 1.0, print)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="its own fault"):
            launcher.launch(frozenset(), 60)
        return reasons

    return run


OWN: tuple[Status, str] = ("failed", "its own fault")
KEPT = "Slurm kept its nodes for maintenance"


def test_what_slurm_prevented_is_launched_again(launched: Launched) -> None:
    limit = "sbatch: error: QOSMaxSubmitJobPerUserLimit"
    silence = "sbatch: error: Unable to contact slurm controller (connect failure)"
    ends: Ends = (("displaced", KEPT), ("failed", limit), ("failed", silence), OWN)
    assert launched(ends) == [KEPT, limit, "Slurm did not answer"]


def test_what_failed_while_slurm_was_silent_is_no_fault_of_the_arm(launched: Launched) -> None:
    now = int(time.time()) + 100
    log = f"{now} lost 1 sacct error\n{now + 5} back 1\n"
    with pytest.raises(NoAnswerError, match="Slurm did not answer"):
        launched((OWN, OWN), pauses=1, log=log)


def test_without_slurm_a_failure_is_one(launched: Launched) -> None:
    assert launched((OWN,), manager="local") == []
