"""When a launch counts as disturbed, and why."""

from __future__ import annotations

from typing import Any

import pytest

from roundtrip.collect import analysis, disturbance

LIMITS = analysis.Disturbance(
    steal_fraction=0.01,
    involuntary_context_switches_per_s=100,
    core_migrations=2,
    load_above_cores=1,
)
QUIET = {
    "load_average_start": [1.9, 1, 1],
    "involuntary_context_switches": [30, None],
    "core_migrations": [0, 2],
    "steal_s": 0.0,
}


def reasons(cores: int | None = 2, **facts: Any) -> tuple[str, ...]:
    run = {"ranks": 2, "elapsed_s": 10.0, "disturbance": {**QUIET, **facts}}
    return disturbance.reasons(run, LIMITS, cores)


def test_a_quiet_launch_is_not() -> None:
    assert reasons() == ()


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"steal_s": 0.3}, "1.5 % of CPU time stolen"),
        ({"involuntary_context_switches": [9, 1500]}, "150 involuntary context switches per"),
        ({"core_migrations": [3, 0]}, "moved between cores 3 times"),
        ({"load_average_start": [3.2, 0, 0]}, "load average 3.2 at the start, on 2 cores"),
    ],
)
def test_each_fact_alone_disturbs(facts: dict[str, Any], told: str) -> None:
    (reason,) = reasons(**facts)
    assert told in reason


def test_all_reasons_are_told() -> None:
    found = reasons(steal_s=9, core_migrations=[9, 9], load_average_start=[9, 9, 9])
    assert len(found) == 3


def test_what_is_not_recorded_is_not_judged() -> None:
    assert reasons(cores=None, load_average_start=[99, 99, 99]) == ()
    assert reasons(load_average_start=None, steal_s=None, core_migrations=None) == ()
    run = {"ranks": 2, "elapsed_s": None, "disturbance": None}
    assert disturbance.reasons(run, LIMITS, 2) == ()
