"""The A/A test: recorded /proc texts and blocks with known answers, and one short real one."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from roundtrip.measure import analysis
from roundtrip.sites import interference, machine
from roundtrip.sites.interference import AATestBlock, ProcessorTimes

LEVELS = analysis.default_settings().statistics
RECORDED = Path(__file__).parents[1] / "data" / "hosts" / "virtual-2-cores"
QUIET = AATestBlock(
    wall_s=1.0,
    a_batches_s=[2e-3] * 9,
    b_batches_s=[2e-3] * 9,
    test_cpu_s=2.0,
    busy_cpu_s=2.01,
    steal_s=0.0,
    loop_cpu_s=1e-3,
)


def blocks(noise: float = 0.0, bias: float = 1.0, **changes: float) -> list[AATestBlock]:
    """Twelve blocks whose times vary by `noise`; B takes `bias` times as long as A."""
    rng = np.random.default_rng(7)

    def times(scale: float) -> list[float]:
        return list(2e-3 * scale * np.exp(noise * rng.standard_normal()) * np.ones(9))

    base_blocks = [
        replace(QUIET, a_batches_s=times(1.0), b_batches_s=times(bias)) for _ in range(12)
    ]
    return [replace(block, **changes) for block in base_blocks]  # type: ignore[arg-type]


def found(
    ab_blocks: list[AATestBlock], autogroup: bool | None = False
) -> dict[str, tuple[str, str]]:
    all_findings = interference.interference_diagnoses(ab_blocks, LEVELS, autogroup)
    assert all("\n" not in finding.detail + finding.advice for finding in all_findings)
    assert all(finding.advice for finding in all_findings if finding.level == "warn")
    return {finding.topic: (finding.level, finding.detail) for finding in all_findings}


def test_recorded_proc_stat() -> None:
    stat = "cpu  700 20 200 5000 30 10 40 100 0 0\ncpu0 1 1 1 1 1 1 1 1\n"
    assert interference.parse_processor_times(stat, 100) == ProcessorTimes(
        busy_cpu_s=9.7, steal_s=1.0
    )
    old_kernel = "cpu  700 0 200 0\n"
    assert interference.parse_processor_times(old_kernel, 100) == ProcessorTimes(9.0, 0.0)
    text = (RECORDED / "proc" / "stat").read_text()
    ticks = interference.parse_processor_times(text, 100)
    assert ticks.busy_cpu_s > 0
    assert ticks.steal_s / ticks.busy_cpu_s < 0.1


def test_the_time_of_a_process_whose_name_is_hostile() -> None:
    stat = "42 (a) b (c) 1) S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 1 0"
    assert interference.parse_process_time_s(stat, 100) == 4.0


def test_a_quiet_machine_has_nothing_to_say() -> None:
    topics = found(blocks())
    assert {level for level, _ in topics.values()} == {"ok"}
    assert "differences below 0.1% cannot be seen" in topics["A/A test"][1]


@pytest.mark.parametrize(
    ("changes", "autogroup", "topic", "detail"),
    [
        ({"busy_cpu_s": 3.0}, False, "others' load", "1.00 processors while"),
        ({"test_cpu_s": 1.2, "busy_cpu_s": 1.2}, True, "sched_autogroup", "got 60% of two pr"),
        ({"steal_s": 0.05}, False, "CPU steal", "0.050 processors while"),
    ],
)
def test_each_disturbance_warns_alone(
    changes: dict[str, float], autogroup: bool, topic: str, detail: str
) -> None:
    result = found(blocks(**changes), autogroup)
    assert [name for name, (level, _) in result.items() if level == "warn"] == [topic]
    assert detail in result[topic][1]


def test_a_frequency_that_moves_and_what_it_did() -> None:
    """Half of the blocks at 80 % of the frequency: the loop and the messages take 1.25 times."""
    slower = {"loop_cpu_s": 1.25e-3, "a_batches_s": [2.5e-3], "b_batches_s": [2.5e-3]}
    slow_blocks = [replace(block, **slower) for block in blocks()[:6]]
    level, detail = found(slow_blocks + blocks()[6:])["speed"]
    assert level == "warn"
    assert "up to 25.0% more" in detail
    assert "messages took 1.25 times" in detail


def test_noise_sets_what_can_be_seen() -> None:
    """Known answer: the interval of twelve is rank 3 to 10."""
    ratios = sorted(block.ratio_b_to_a for block in blocks(noise=0.1))
    difference = max(ratios[9] - 1, 1 / ratios[2] - 1)
    level, detail = found(blocks(noise=0.1))["A/A test"]
    assert level == "warn"
    interval = f"[{ratios[2] - 1:+.1%}, {ratios[9] - 1:+.1%}]"
    assert f"{interval}; differences below {difference:.1%}" in detail
    assert "no interval" in found(blocks()[:4])["A/A test"][1]


def test_a_false_claim_warns() -> None:
    level, detail = found(blocks(noise=0.001, bias=1.3))["A/A test"]
    assert level == "warn"
    assert "B is called" in detail


def test_without_variation_there_is_no_effect() -> None:
    slowdown = interference.slowdown_by_quantity(lambda block: block.wall_s, blocks())
    assert slowdown is None


def test_the_kernel_says_whether_sessions_get_equal_shares(tmp_path: Path) -> None:
    assert machine.read_host(tmp_path).autogroup is None
    file = tmp_path / "proc" / "sys" / "kernel" / "sched_autogroup_enabled"
    file.parent.mkdir(parents=True)
    for text, expected in (("1\n", True), ("0\n", False)):
        file.write_text(text)
        assert machine.read_host(tmp_path).autogroup is expected


@pytest.mark.skipif(machine.read_host().usable < 2, reason="two ends need a processor each")
def test_a_short_real_one() -> None:
    measured_blocks = interference.measure_blocks(seconds=0.6)
    assert len(measured_blocks) == interference.BLOCK_COUNT
    for block in measured_blocks:
        assert block.ratio_b_to_a > 0 and block.test_cpu_s >= 0 and block.loop_cpu_s > 0
    assert interference.interference_diagnoses(
        measured_blocks, LEVELS, machine.read_host().autogroup
    )


class Silence:
    """A memory without a request, for so many reads."""

    def __init__(self, reads: int) -> None:
        self.left = iter(range(reads))

    def __getitem__(self, place: int) -> int:
        return 0 * next(self.left)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "_POLLS_PER_PARENT_CHECK", 10)


@pytest.mark.usefixtures("impatient")
def test_the_other_end_does_not_outlive_its_parent() -> None:
    memory: Any = Silence(100)
    interference.echo_bytes(memory, parent=-1)
    assert next(memory.left) == 10
    with pytest.raises(StopIteration):
        interference.echo_bytes(memory, os.getppid())


def test_a_block_has_as_many_times_of_a_as_of_b(monkeypatch: pytest.MonkeyPatch) -> None:
    end = interference._PingPongEnd(memory=None, echo_process=SimpleNamespace(pid=os.getpid()))  # type: ignore[arg-type]
    times, orders = iter([0.25, 0.25]), iter([("b", "a")])
    random_stub = SimpleNamespace(sample=lambda names, count: next(orders))
    monkeypatch.setattr(interference, "random", random_stub)
    monkeypatch.setattr(end, "measure_batch_s", lambda round_trips: next(times) * round_trips)
    block = end.measure_block(seconds=0.0, batch_round_trips=2)
    assert (block.a_batches_s, block.b_batches_s) == ([0.5], [0.5])
    assert block.loop_cpu_s > 0 and block.test_cpu_s >= 0
