"""When a launch counts as disturbed, and why."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtrip import model
from roundtrip.measure import analysis, disturbance, run_record

RECORDED = Path(__file__).parents[1] / "data" / "disturbance"

LIMITS = analysis.default_settings().disturbance.model_copy(update={"core_migrations": 2})
QUIET = {
    "load_average_start": [1.9, 1, 1],
    "involuntary_context_switches": [30, None],
    "core_migrations": [0, 2],
    "steal_s": 0.0,
    "duration_s": [9.0, 9.0],
    "cpu_s": [8.9, 8.9],
    "waited_s": [0.05, 0.05],
    "throttled_s": [0.0, 0.0],
    "continued": [0, 0],
    "longest_stop_s": [0.0, None],
    "suspended_s": [0.0, 0.0],
    "clock_rate": [1.0, 1.00005],
    "clock_rate_error": [0.0, 1e-6],
    "clock_step_s": [0.0, -1e-6],
    "utc_ahead_s": [0.0, -0.3],
    "utc_step_s": [0.0, 0.001],
    "tracer": [0, 0],
}
RANKS = range(128)
PLACEMENT = [{"rank": rank, "host": "vm", "cpus": [rank]} for rank in (0, 1)]


def reasons(cores: int | None = 2, placement: Any = PLACEMENT, **facts: Any) -> tuple[str, ...]:
    record = {**QUIET, **facts}
    run = {"ranks": 2, "elapsed_s": 10.0, "placement": placement, "disturbance": record}
    return disturbance.disturbance_reasons(run, LIMITS, cores)


def test_a_quiet_launch_is_not() -> None:
    assert reasons() == ()


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"steal_s": 0.3}, "1.5 % of CPU time stolen"),
        ({"involuntary_context_switches": [9, 1500]}, "150 involuntary context switches per"),
        ({"core_migrations": [3, 0]}, "moved between cores 3 times"),
        ({"load_average_start": [3.2, 0, 0]}, "load average 3.2 at the start, on 2 cores"),
        ({"throttled_s": [0.0, 0.5]}, "throttled: the CPU limit of the cgroup of rank 1 stopped"),
        ({"suspended_s": [2.5, 0.0]}, "suspended: the machine of rank 0 slept for 2.5 s"),
        ({"longest_stop_s": [0.0, 2.0]}, "suspended: rank 1 had no processor for 2.0 s"),
        ({"waited_s": [0.1, 1.8]}, "starved: rank 1 waited for a processor in 20 % of the time"),
        ({"clock_rate": [1.0, 1.3]}, "the clock of rank 1 runs 1.3 times as fast"),
        ({"clock_rate": [1.0, 0.9]}, "the clock of rank 1 runs 0.9 times as fast"),
        ({"utc_step_s": [0.0, -2.0]}, "somebody set the wall clock of rank 1 by -2 s"),
        ({"utc_step_s": [2.0, 2.0]}, "somebody set the wall clock of rank 0 by +2 s"),
        ({"tracer": [0, 812]}, "traced: process 812 (a debugger or the like) holds rank 1"),
        ({"clock_step_s": [0.0, 120.0]}, "the clock of rank 1 went +120 s away from that of its"),
    ],
)
def test_each_fact_alone_disturbs(facts: dict[str, Any], expected: str) -> None:
    (reason,) = reasons(**facts)
    assert expected in reason


def test_all_reasons_are_said() -> None:
    messages = reasons(steal_s=9, core_migrations=[9, 9], load_average_start=[9, 9, 9])
    assert len(messages) == 3


def test_what_is_not_recorded_is_not_judged() -> None:
    assert reasons(cores=None, load_average_start=[99, 99, 99]) == ()
    assert reasons(load_average_start=None, steal_s=None, core_migrations=None) == ()
    run = {"ranks": 2, "elapsed_s": None, "disturbance": None}
    assert disturbance.disturbance_reasons(run, LIMITS, 2) == ()


def test_a_signal_disturbs_only_if_it_ended_a_stop() -> None:
    assert reasons(continued=[0, 1]) == ()
    stop_facts = {"continued": [0, 2], "cpu_s": [8.9, 6.9], "longest_stop_s": [2.0, 2.0]}
    (reason,) = reasons(**stop_facts)
    assert reason == "suspended: a signal stopped rank 1 (2 x SIGCONT, 2.0 s without the processor)"


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (
            {"clock_rate": [1 + rank / 100 for rank in RANKS]},
            "the clock of rank 127 runs 2.27 ",
        ),
        (
            {"clock_step_s": [-float(rank) for rank in RANKS]},
            "the clock of rank 127 went -127 s",
        ),
        (
            {"continued": [1] * 128, "cpu_s": [9.0, *[8.0] * 50, 6.0, *[8.0] * 76]},
            "suspended: a signal stopped rank 51 (1 x SIGCONT, 3.0 s without the processor)",
        ),
    ],
)
def test_of_many_ranks_the_worst_is_named(facts: dict[str, Any], reason: str) -> None:
    per_rank = {"duration_s": [9.0] * 128, "waited_s": [0.0] * 128, "clock_rate_error": [0.0] * 128}
    (message,) = reasons(**per_rank, **facts)
    assert message.startswith(reason) and message.endswith(" (and 126 more)")


def test_who_is_throttled_is_not_also_starved() -> None:
    (reason,) = reasons(throttled_s=[3.0, 3.0], waited_s=[4.0, 4.0])
    assert reason.startswith("throttled")


def test_a_kernel_that_counts_no_waiting_leaves_the_time_of_the_processor() -> None:
    facts = {"waited_s": [None, None], "cpu_s": [8.9, 4.5]}
    assert reasons(**facts) == (), "it may have slept"
    (reason,) = reasons(voluntary_context_switches=[30, 30], **facts)
    starvation = "starved: rank 1 waited for a processor in 50 % of the time"
    assert reason == f"{starvation}, while other programs ran on processor 1"
    assert reasons(voluntary_context_switches=[30, 9000], **facts) == ()


def test_ranks_that_share_processors_wait_for_each_other() -> None:
    wait_facts = {"waited_s": [4.0, 4.0]}
    assert len(reasons(**wait_facts)) == 1
    unbound_ranks = [{**place, "cpus": [0, 1]} for place in PLACEMENT]
    (reason,) = reasons(placement=unbound_ranks, **wait_facts)
    assert reason.endswith("while other programs ran on its processors")
    for cpus in ([0], [0, 1]):
        crowd = [{"rank": rank, "host": "vm", "cpus": cpus} for rank in range(4)]
        assert reasons(placement=crowd, **wait_facts) == ()
    assert reasons(placement=[{**place, "cpus": []} for place in PLACEMENT], **wait_facts) == ()


def test_emulated_nodes_share_the_processors_of_their_machine() -> None:
    placement = [{"rank": rank, "host": f"a{rank}", "cpus": [0]} for rank in (0, 1)]
    facts = {"disturbance": {**QUIET, "waited_s": [4.0, 4.0]}}
    run = {"ranks": 2, "elapsed_s": 10.0, "placement": placement, **facts}
    assert len(disturbance.disturbance_reasons(run, LIMITS, 2)) == 1
    assert disturbance.disturbance_reasons(run, LIMITS, 2, is_one_machine=True) == ()


def crowded(*cpus: list[int], logical: int | None = 4, one_machine: bool = False) -> str:
    placement = [
        {"rank": rank, "host": f"a{rank % 2}", "cpus": rank_cpus}
        for rank, rank_cpus in enumerate(cpus)
    ]
    nodes = [{"host": host, "logical": logical} for host in ("a0", "a1")]
    run = {"ranks": len(cpus), "elapsed_s": 1.0, "placement": placement, "nodes": nodes}
    return "; ".join(disturbance.disturbance_reasons(run, LIMITS, 2, one_machine))


def test_two_ranks_on_one_processor_where_each_could_have_its_own() -> None:
    reason = "crowded: ranks 1 and 3 are bound to processor 2"
    assert crowded([0], [2], [1], [2]) == reason
    assert crowded([0], [2], [0, 1], [2, 3]) == "", "not bound to one, or the only one there"
    assert crowded([0], [2], [1], [2], logical=1) == "", "there are no more processors"
    assert crowded([0], [2], [1], [2], logical=None) == "", "nobody knows"
    assert crowded([0], [0]) == ""
    assert crowded([0], [0], one_machine=True) == "crowded: ranks 0 and 1 are bound to processor 0"


def test_a_clock_that_was_compared_badly_is_not_judged() -> None:
    assert reasons(clock_rate=[1.0, 1.3], clock_rate_error=[0.0, 0.31]) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("load", "starved: rank 0 waited for a processor in 31 % of the time, while other "),
        ("throttled", "throttled: the CPU limit of the cgroup of rank 1 stopped it for 3.10 s"),
        ("partial", "throttled: the CPU limit of the cgroup of rank 0 stopped it for 5.74 s"),
        ("stopped", "suspended: a signal stopped rank 1 (1 x SIGCONT, 2.0 s without"),
        ("fast-clock", "the clock of rank 1 runs 1.3 times as fast as that of rank 0"),
    ],
)
def test_recorded_launches_say_what_was_done_to_them(name: str, expected: str) -> None:
    run = json.loads((RECORDED / f"{name}.json").read_text())
    limits = analysis.default_settings().disturbance
    messages = disturbance.disturbance_reasons(run, limits, 2)
    assert any(reason.startswith(expected) for reason in messages)
    kinds = ("throttled", "suspended", "the clock")
    other_kinds = tuple(kind for kind in kinds if not expected.startswith(kind))
    assert not any(reason.startswith(other_kinds) for reason in messages)
    partial_reason = disturbance.partial_reason(run, limits)
    assert bool(partial_reason) == (name == "partial"), partial_reason


def test_a_launch_with_too_few_sizes_is_partial() -> None:
    limits = analysis.default_settings().disturbance
    assert disturbance.partial_reason({"coverage": {"measured": 4, "wanted": 20}}, limits) == (
        "measured 4 of the 20 sizes of its coarse grid before its time was over"
    )
    for coverage in (None, {"measured": 0, "wanted": 0}, {"measured": 18, "wanted": 20}):
        assert disturbance.partial_reason({"coverage": coverage}, limits) == ""


def rank_facts(name: str) -> st.SearchStrategy[float]:
    if name.endswith(("switches", "migrations", "continued", "tracer")):
        return st.integers(0, 2**53)
    is_signed = name in ("clock_step_s", "utc_ahead_s", "utc_step_s")
    return st.floats(-1e15 if is_signed else 0, 1e15)


FACTS = st.fixed_dictionaries(
    {},
    optional={
        name: st.none() | st.lists(st.none() | rank_facts(name), max_size=4)
        for name in (*run_record.RankDisturbance.model_fields, "utc_step_s", "tracer")
    },
)


@given(facts=FACTS, ranks=st.integers(0, 4))
@example(facts={"duration_s": [1e-86], "waited_s": [1e11]}, ranks=1)
def test_whatever_a_record_may_hold_is_judged(facts: dict[str, Any], ranks: int) -> None:
    assert model.find_fault(run_record.DisturbanceRecord, facts) is None
    placement = [{"rank": rank, "host": "vm", "cpus": [rank % 2]} for rank in range(ranks)]
    run = {"ranks": 2, "elapsed_s": 1.0, "placement": placement, "disturbance": facts}
    for reason in disturbance.disturbance_reasons(run, LIMITS, 2):
        assert reason.isprintable() and len(reason) < 200


@pytest.mark.parametrize(
    ("data", "cores"),
    [
        ({"cpu": {"logical": 1}}, 1),
        ({"cpu": {"logical": 0}}, None),
        ({"cpu": {"logical": -4}}, None),
        ({"cpu": {"logical": "4"}}, None),
        ({"cpu": 4}, None),
        ({}, None),
    ],
)
def test_a_host_has_as_many_processors_as_it_can_have(data: Any, cores: int | None) -> None:
    assert disturbance.processor_count({"hosts": ["vm"]}, {"hostname": "vm", **data}) == cores
    assert disturbance.processor_count({"hosts": ["vm"]}, data) is None, "which host is that?"


@pytest.mark.parametrize(
    ("hosts", "nodes", "cores"),
    [
        (["a0", "a1"], [{"host": "a1", "logical": 8}, {"host": "a0", "logical": 128}], 128),
        (["a0"], [{"host": "a0", "logical": None}], None),
        (["a0"], [{"host": "a1", "logical": 8}], None),
        (["a0"], None, None),
        (["login"], [{"host": "login", "logical": None}], 4),
        (["Login.example.org"], None, 4),
        ([], None, None),
    ],
)
def test_the_processors_are_those_of_rank_0(hosts: list[str], nodes: Any, cores: Any) -> None:
    machine = {"hostname": "login", "cpu": {"logical": 4}}
    assert disturbance.processor_count({"hosts": hosts, "nodes": nodes}, machine) == cores
