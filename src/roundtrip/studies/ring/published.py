"""The claims on elepar's page, each beside our measurement."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Table
from roundtrip.report.labels import mark
from roundtrip.report.units import Quantity, Unit
from roundtrip.studies import display
from roundtrip.studies.ring import REGION, REGION_UDP, Thresholds, derived
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.ring.findings import is_within, region_cost

#: Region sizes at which the study gives its bandwidth in memory and its full Ethernet bandwidth.
_LARGE_SIZE, _SMALL_SIZE = derived.STUDY_SIZE, 1_000


def study_table(curves: Curves, panels: Sequence[Panel], settings: Thresholds) -> Table:
    """Return the table of the study's claims and figures, except its three reasons."""
    two_ranks = [panel for panel in panels if panel.in_one_node and not panel.oversubscribed]
    three_ranks = [panel for panel in panels if panel.oversubscribed]
    two_nodes = [panel for panel in panels if panel.case == "1+1"]
    hybrid = [panel for panel in panels if panel.shared_passes and panel.network_passes]
    return display.study_table(
        (
            (
                "“the time to “pass” a region is a constant …, and completely independent of the "
                "region size”: two processes on two processors",
                _microseconds(derived.PUBLISHED_PASS),
                _constant(curves, two_ranks, settings),
            ),
            (
                "“for the green line it is about twice that”: three processes on two processors",
                ("inferred: ", _microseconds(2 * derived.PUBLISHED_PASS)),
                _constant(curves, three_ranks, settings),
            ),
            *(
                (
                    f"effective bandwidth for regions of 10000 bytes, {name}",
                    f"{number} GB/s",
                    _bandwidth(curves, group),
                )
                for name, number, group in (
                    ("two processes on two processors", "3.7", two_ranks),
                    ("three processes on two processors", "1.8", three_ranks),
                )
            ),
            (
                "“You will not see performance like that from PVM or MPI in any configuration, "
                "even working through shared memory”",
                units.NO_VALUE,
                _gain(curves, two_ranks, REGION, _LARGE_SIZE),
            ),
            (
                "“almost the entire bandwidth of the 10BaseT ethernet to the application, with "
                "region sizes of just 1000 bytes each”",
                "1.1 MB/s, read off its figure",
                _goodput(curves, two_nodes, settings),
            ),
            (
                "“superior to PVM and MPI in similar circumstances”: regions by UDP",
                units.NO_VALUE,
                _gain(curves, two_nodes, REGION_UDP, _SMALL_SIZE),
            ),
            (
                "hybrid: “one traversal of the ring consists of two traversals of the ethernet "
                "plus one through fixed-latency shared memory”",
                units.NO_VALUE,
                _lap(hybrid),
            ),
        )
    )


def _microseconds(seconds: float) -> Quantity:
    return units.amount(seconds * 1e6, Unit.US, digits=2)


def _constant(curves: Curves, panels: Sequence[Panel], settings: Thresholds) -> Cell:
    """Time per pass of a region, and whether it is constant over the sizes."""
    costs = [cost for panel in panels if (cost := region_cost(curves, panel, settings))]
    if not costs:
        return display.NOT_MEASURED
    times = units.span([cost.seconds.median * 1e6 for cost in costs])
    outcomes = [cost.is_flat for cost in costs]
    return _verdict_cell(f"{times} µs{_mark(panels)}", outcomes, "constant", "not constant")


def _bandwidth(curves: Curves, panels: Sequence[Panel]) -> Cell:
    medians = [
        rate.median for panel in panels if (rate := curves.bandwidth_at(panel, REGION, _LARGE_SIZE))
    ]
    if not medians:
        return display.NOT_MEASURED
    rates = units.span(medians, 1e-3)
    return Cell(f"{rates} GB/s, effective: nothing is moved{_mark(panels)}")


def _gain(curves: Curves, panels: Sequence[Panel], variant: str, size: int) -> Cell:
    """Bandwidth ratio of `variant` to MPI's best two-sided call, and to PVM where it ran."""
    words: list[str] = []
    outcomes: list[bool | None] = []
    over_mpi = [curves.gains_over_mpi(panel, variant).get(size, []) for panel in panels]
    over_pvm = [curves.bandwidth_ratios(panel, variant, "pvm").get(size, []) for panel in panels]
    for name, panel_ratios in (("the best two-sided MPI", over_mpi), ("PVM", over_pvm)):
        gains = [gain for launch_ratios in panel_ratios if (gain := curves.interval(launch_ratios))]
        if gains:
            words.append(f"{units.span([gain.median for gain in gains])} times {name}")
            outcomes += [is_within(gain, 1.0, is_least=True) for gain in gains]
    if not words:
        return display.NOT_MEASURED
    text = f"{' and '.join(words)} at {units.size(size)}{_mark(panels)}"
    return _verdict_cell(text, outcomes, "holds", "not everywhere")


def _goodput(curves: Curves, panels: Sequence[Panel], settings: Thresholds) -> Cell:
    shares = []
    outcomes = []
    for panel in (panel for panel in panels if panel.hub_mbit_s):
        limit = derived.theoretical_goodput(panel.hub_mbit_s or 0.0, _SMALL_SIZE)
        if rate := curves.bandwidth_at(panel, REGION_UDP, _SMALL_SIZE):
            shares.append(rate.median / limit)
            outcomes.append(is_within(rate, settings.least_goodput * limit, is_least=True))
    if not shares:
        return display.NOT_MEASURED
    parts = " to ".join(dict.fromkeys(units.percent(end) for end in (min(shares), max(shares))))
    text = f"{parts} of what the wire can carry, by UDP{_mark(panels)}"
    return _verdict_cell(text, outcomes, "holds", "less")


def _lap(panels: Sequence[Panel]) -> Cell:
    laps = dict.fromkeys(
        f"{units.plural(panel.network_passes, 'pass', 'passes')} over the network and "
        f"{panel.shared_passes} in memory"
        for panel in panels
    )
    return Cell(f"{'; '.join(laps)}{_mark(panels)}") if laps else display.NOT_MEASURED


def _mark(panels: Sequence[Panel]) -> str:
    return mark(panel.kind for panel in panels)


def _verdict_cell(text: str, outcomes: Sequence[bool | None], yes: str, no: str) -> Cell:
    """`yes` if every outcome is, `no` if one is not, as in `is_within`; else "cannot tell"."""
    if all(outcomes):
        return Cell(text, "good", yes)
    return Cell(text, "warn", no if False in outcomes else "cannot tell")
