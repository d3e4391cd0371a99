"""The ring study's definitions, and the outcomes of its reasons, with answers known by hand."""

import math
from functools import partial
from itertools import product

import polars as pl
import pytest
from support.measured import launch_samples

from roundtrip.measure import analysis
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import arm_claim, worst_colour
from roundtrip.studies.ring import STUDY, Thresholds
from roundtrip.studies.ring import derived as ring
from roundtrip.studies.ring.curves import Panel
from roundtrip.studies.ring.findings import COLOUR_BY_OUTCOME, Finding, reason_findings

frame = partial(launch_samples, study="ring", metric="time_per_pass")


def test_effective_bandwidth_is_bytes_over_the_time_of_a_pass() -> None:
    medians = ring.launch_medians(frame({("region", 10_000): [2.7e-6, 1e-6, 9e-6]}).lazy(), [])
    assert medians["seconds"].item() == 2.7e-6
    assert medians["bandwidth"].item() == pytest.approx(3703.7, rel=1e-4)  # the study's 3.7 GB/s


def test_single_laps_are_not_mixed_with_batches() -> None:
    laps = frame({("region", 10): [5.0]}, metric="lap_time")
    rows = pl.concat([laps, frame({("region", 10): [1e-6]})])
    assert ring.launch_medians(rows.lazy(), [])["seconds"].to_list() == [1e-6]


def test_the_best_two_sided_call_is_chosen_at_each_size() -> None:
    times = {("mpi", 10): [2e-6], ("mpi-typed", 10): [1e-6], ("mpi", 100): [3e-6]}
    medians = ring.launch_medians(frame({**times, ("mpi-rma", 10): [1e-9]}).lazy(), [])
    best = ring.best_two_sided_medians(medians, [])
    assert best.sort("size_bytes")["seconds"].to_list() == [1e-6, 3e-6]
    assert best["variant"].unique().to_list() == ["best"]


@pytest.mark.parametrize(
    ("times", "other_times", "size"),
    [
        ([1.0, 1.0, 1.0], [2.0, 3.0, 9.0], 10.0),  # always faster: the first size
        ([1.0, 1.0, 1.0], [0.5, 2.0, 9.0], 10**1.5),  # gains -log 2, +log 2: half way in log size
        ([1.0, 1.0, 1.0], [2.0, 0.5, 2.0], 10**2.5),  # only the last crossing counts
        ([1.0, 1.0, 1.0], [2.0, 2.0, 1.0], math.inf),  # not faster at the end
    ],
)
def test_the_crossover_is_where_it_becomes_faster_for_good(
    times: list[float], other_times: list[float], size: float
) -> None:
    seconds, other_seconds = (
        dict(zip((10, 100, 1000), values, strict=True)) for values in (times, other_times)
    )
    assert ring.crossover_bytes({**seconds, 10_000: 9.0}, other_seconds) == pytest.approx(size)


def test_flatness_in_hand_overs_leaves_out_what_slows_both() -> None:
    region = {10: 0.2, 100: 0.6, 1_000: 0.25}
    cache_line = {10: 0.1, 100: 0.3, 1_000: 0.1, 10_000: 9.0}
    assert ring.flatness(region.values()) == pytest.approx(3)
    assert ring.flatness_in_hand_overs(region, cache_line) == pytest.approx(1.25)  # 2, 2 and 2.5
    assert ring.flatness_in_hand_overs({**region, 1 << 20: 0.2}, cache_line) is None


@pytest.mark.parametrize(
    ("passes", "region", "udp"),
    [
        ((2, 0), "Region by reference", "Region by UDP"),
        ((0, 2), "Region by MPI's messages", "Region by UDP"),
        (
            (1, 2),
            "Region by reference in a node and by MPI's messages between",
            "Region by reference in a node and by UDP between",
        ),
    ],
)
def test_a_region_is_named_after_the_way_it_goes(
    passes: tuple[int, int], region: str, udp: str
) -> None:
    shared, network = passes
    panel = Panel(key=("", "2"), toolchain="", shared_passes=shared, network_passes=network)
    titles = [panel.variant_title(name) for name in ("region", "region-udp", "mpi")]
    assert titles == [region, udp, "MPI two-sided"]


def test_a_launch_in_figures() -> None:
    times = {
        ("cache-line", 10): [0.1e-6],
        ("cache-line", 10_000): [0.1e-6],
        ("region", 10): [0.20e-6],
        ("region", 10_000): [0.22e-6],
        ("mpi", 10): [0.4e-6],
        ("mpi", 10_000): [4.4e-6],
        ("mpi-typed", 10_000): [2.2e-6],
    }
    figures = ring.perf_variables(frame(times))
    assert figures["region_pass_10B"] == pytest.approx(0.2)
    assert figures["region_flatness"] == pytest.approx(1.1)
    assert figures["region_per_hand_over"] == pytest.approx(2.1)
    assert figures["region_over_mpi_10kB"] == pytest.approx(10)
    assert figures["mpi_bandwidth_10kB"] == pytest.approx(10_000 / 2.2)
    assert "pvm_bandwidth_10kB" not in figures and "region_pass_16MiB" not in figures
    assert set(figures) <= set(ring.PERF_VARIABLE_UNITS)


def test_the_published_lines_are_those_of_the_text() -> None:
    assert ring.PUBLISHED_MB_PER_S["2"][10_000] == pytest.approx(3700, rel=0.05)
    assert ring.PUBLISHED_MB_PER_S["3"][10_000] == pytest.approx(1800, rel=0.05)


def test_theoretical_goodput_counts_every_byte_time_on_the_wire() -> None:
    assert ring.theoretical_goodput(10, 1_000) == pytest.approx(1.25 * 1_000 / 1_066)


F, S, P, U = Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, Verdict.CANNOT_TELL
MEASURED = " where measured (10 B to 10 kB)"
SETTINGS = analysis.default_settings().study_thresholds(Thresholds)
PANEL = Panel(
    key=("Ring@x", "2"), toolchain="Open MPI", launch_count=10, shared_passes=2, network_passes=0
)
INTERVAL = Interval(1.0, 0.9, 1.1, 10)  # not looked at: only the verdict counts


def finding_of(verdicts: tuple[Verdict | None, ...]) -> Finding:
    """Of copying; a verdict for each compared size, None: not measured."""
    claim_verdicts = {
        arm_claim(STUDY, PANEL, "mpi-shm", "region", size): ClaimVerdict(
            INTERVAL, 0.0, 0.0, verdict
        )
        for size, verdict in zip(SETTINGS.compared_sizes, verdicts, strict=True)
        if verdict
    }
    (finding,) = reason_findings(PANEL, claim_verdicts, SETTINGS)
    return finding


@pytest.mark.parametrize(
    ("verdicts", "verdict", "sentence"),
    [  # at 10 B, 1 kB, 10 kB and 1 MB; None: not measured
        ((S, S, S, S), "holds", "holds"),
        ((S, S, S, None), f"holds{MEASURED}", f"holds{MEASURED}"),
        ((F, S, S, S), "holds in part", "holds from 1 kB on"),
        ((P, P, S, S), "holds in part", "holds from 10 kB on"),
        ((P, F, P, S), "holds in part", "holds from 1 MB on"),
        ((U, P, S, S), "holds in part", "holds from 10 kB on"),
        ((F, U, S, S), "holds in part", "holds at least from 10 kB on"),
        ((U, U, U, S), "holds in part", "holds at least from 1 MB on"),
        ((F, P, S, None), "holds in part", f"holds from 10 kB on{MEASURED}"),
        ((S, None, S, S), *["holds where measured (10 B, 10 kB, 1 MB)"] * 2),
        ((S, P, P, P), "holds in part", "holds in part"),
        ((S, P, S, S), "holds in part", "holds in part"),
        ((F, S, S, U), "holds in part", "holds in part"),
        ((S, U, U, F), "holds in part", "holds in part"),
        ((P, F, P, P), "does not hold", "does not hold"),
        ((P, F, P, None), f"does not hold{MEASURED}", f"does not hold{MEASURED}"),
        ((P, F, P, U), *["11 % slower to 10 % faster at 1 MB (open)"] * 2),
        ((U, U, U, U), *["11 % slower to 10 % faster (open)"] * 2),
    ],
)
def test_the_outcome_over_the_compared_sizes(
    verdicts: tuple[Verdict | None, ...], verdict: str, sentence: str
) -> None:
    finding = finding_of(verdicts)
    texts = [text.replace("\xa0", " ") for text in (finding.verdict, finding.sentence)]
    assert texts == [verdict, sentence]


def test_good_news_is_not_red_and_partial_evidence_is_not_green() -> None:
    assert finding_of((P, F, P, P)).status_colour == "plain"
    assert finding_of((S, S, S, S)).status_colour == "good"
    assert (
        finding_of((S, S, S, None)).status_colour
        == finding_of((P, F, P, None)).status_colour
        == "warn"
    )
    assert worst_colour([]) == "warn"


def test_it_is_open_only_if_no_size_shows_the_cost_and_one_is_undecided() -> None:
    for verdicts in product((F, S, P, U, None), repeat=len(SETTINGS.compared_sizes)):
        if any(verdicts):
            finding = finding_of(verdicts)
            assert finding.outcome in COLOUR_BY_OUTCOME
            assert (finding.outcome == "open") == (S not in verdicts and U in verdicts)
