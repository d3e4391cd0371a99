"""The ring section says what is in the data: rings whose truth is known."""

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from support.measured import find_table, study_section
from support.ring import (
    SIZES,
    TRANSPORT_COSTS,
    answer_texts,
    panel_answer_text,
    ring_data,
    triple_time_at_10_kb,
)

from roundtrip.content.blocks import Gallery, ReportSection
from roundtrip.content.data import BundleData
from roundtrip.report.painter import svg_files
from roundtrip.studies.ring.curves import RingCurves

HUB: dict[str, Any] = {"case": "1+1", "emulated": {"hub_mbit_s": 10}, "placement": "one-per-node"}


def test_the_three_reasons_follow_the_data(section: ReportSection) -> None:
    (verdicts,) = section.verdict_tables
    (row,) = verdicts.rows
    assert [cell.verdict for cell in row[1:4]] == ["holds", "holds in part", "does not hold"]
    assert row[4].text == "not measured"  # PVM was not in the ring


def test_a_region_that_is_read_stands_beside_messages_that_are_read(section: ReportSection) -> None:
    read_variants = {"region-read": (0.2e-6, 4e-10), "mpi-read": (0.3e-6, 6e-10)}
    read_section = study_section(ring_data(TRANSPORT_COSTS | read_variants))
    read_table = find_table(read_section, "Effective bandwidth in MB/s when")
    rows = {row[1].text: row for row in read_table.rows}
    read_row = rows["Region over MPI two-sided, all read"]
    assert [round(float(cell.text.split()[0]), 1) for cell in read_row[2:]] == [1.5] * 4
    unread_row = rows["Region over MPI two-sided, nobody reads"]
    assert float(unread_row[-1].text.partition(" [")[0].replace("\u202f", "")) > 1000
    assert re.search(r"with every byte read 1\.[45]\d \[", panel_answer_text(read_section))
    assert not [t for t in section.tables if "when every byte is read" in t.caption]


def test_the_axis_ends_where_nothing_physical_is_meant(section: ReportSection) -> None:
    """A region of 1 MB in 0.18 µs would be 5.5 TB/s; one copy takes 10 GB/s at most."""
    (gallery,) = [block for block in section.blocks if isinstance(block, Gallery)]
    svg = next(svg_files(gallery.figures[0]))
    assert ">10\u202f000<" in svg and "100\u202f000" not in svg and "1e+" not in svg
    assert "Region by reference ↑" in svg and "MPI two-sided ↑" not in svg


def test_goals_are_judged_by_their_intervals(section: ReportSection) -> None:
    study_row, row = find_table(section, "A pass of a region inside a node").rows
    assert study_row[1].text == "2.80"
    assert [cell.verdict for cell in row[3:7]] == ["reached"] * 4
    slow_costs = {"region": (0.3e-6, 3e-13), "mpi": (0.3e-6, 1e-11), "mpi-typed": (0.4e-6, 0)}
    slow = TRANSPORT_COSTS | slow_costs
    _, row = find_table(study_section(ring_data(slow)), "A pass of a region inside a node").rows
    assert [cell.verdict for cell in row[3:7]] == ["not reached"] * 4


def test_flatness_in_hand_overs_stands_beside_that_in_time() -> None:
    section = study_section(ring_data(TRANSPORT_COSTS, change=triple_time_at_10_kb))
    goals = find_table(section, "A pass of a region inside")
    cells = dict(zip((column.name for column in goals.columns), goals.rows[1], strict=True))
    time_flatness, hand_over_flatness = (
        cells[f"Largest / smallest{suffix}"] for suffix in ("", ", in hand-overs")
    )
    assert (time_flatness.text[:3], time_flatness.verdict) == ("3.0", "not reached")
    assert (hand_over_flatness.text[:3], hand_over_flatness.verdict) == ("1.0", "reached")


def test_flatness_in_hand_overs_needs_the_bare_line_at_every_size() -> None:
    def change(launch: int, variant: str, size: int) -> float | None:
        return None if (launch, variant, size) == (3, "cache-line", SIZES[-1]) else 1

    section = study_section(ring_data(TRANSPORT_COSTS, change=change))
    _, row = find_table(section, "A pass of a region inside").rows
    assert not row[4].text.endswith("launches")
    assert row[5].text.endswith("; measured in 9 of 10 launches")


def test_the_figure_shows_the_study_beside_the_same_placement_only() -> None:
    def drawn(case: str) -> str:
        return next(svg_files(study_section(ring_data(TRANSPORT_COSTS, case=case)).figures[0]))

    assert "The study, 2002" in drawn("2")
    assert "The study, 2002" not in drawn("2+1")


def test_the_picture_is_the_time_of_a_pass_and_few_curves_share_a_figure(
    section: ReportSection,
) -> None:
    assert section.answer_gallery
    (figure,) = section.answer_gallery.figures
    assert figure.plot
    (view,) = figure.plot.views
    assert view.y_axis and view.y_axis.title == "Time of a pass (µs)"
    points = {curve.name: curve.points for curve in view.curves}
    assert all(2.7 < point[1] < 2.9 for point in points["The study, 2002"])
    region = [point[1] for point in points["Region by reference"]]
    assert max(region) < 1.05 * min(region)
    assert "MPI synchronous" not in points  # it has a figure of its own family
    plots = [figure.plot for figure in section.figures[1:] if figure.plot]
    names = [curve.name for plot in plots for curve in plot.views[0].curves]
    assert {"MPI synchronous", "MPI two-sided, datatype"} <= {*names}
    assert all(len(plot.views[0].curves) <= 7 for plot in plots)


def test_figures_of_a_toolchain_have_a_gallery_and_curves_on_each_other_stay_visible() -> None:
    ring = ring_data(TRANSPORT_COSTS)
    section = study_section(together(ring, renamed(ring, "y", toolchain=pl.lit("MPICH"))))
    galleries = [block for block in section.blocks if isinstance(block, Gallery)]
    titles = [{figure.plot.title for figure in g.figures if figure.plot} for g in galleries]
    assert titles == [{"MPICH, 2 ranks in one node"}, {"Open MPI, 2 ranks in one node"}]
    first, second, *_ = (figure.plot for figure in galleries[0].figures)
    assert first and second
    for plot in (first, second):
        curves = [curve for curve in plot.views[0].curves if curve.name.startswith("MPI ")]
        widths = [curve.line_width for curve in curves]
        assert widths == sorted(widths, reverse=True) and len({*widths}) == len(widths)


def said(section: ReportSection) -> dict[str, tuple[str, str, str]]:
    rows = find_table(section, "What the study says").rows
    return {row[0].text: (row[1].text, row[2].text, row[2].verdict) for row in rows}


def test_every_figure_of_the_study_stands_beside_ours() -> None:
    rows = said(study_section(ring_data(TRANSPORT_COSTS | {"pvm": (5e-6, 6e-10)})))
    assert len(rows) == 15
    measured_rows = {k: row for k, row in rows.items() if not row[1].startswith("not measured")}
    *reasons, constant, linear, larger, rate, gain = measured_rows.values()
    assert [row[2] for row in reasons] == ["holds", "holds in part", "does not hold"]
    assert (constant[0], constant[2]) == ("2.8\xa0µs", "constant")
    assert linear[2] == "linear" and "where linear is 100\u202f000 times" in linear[1]
    assert larger[2] == "holds" and larger[1].endswith(" times at 1\xa0MB over 10\xa0kB")
    assert rate[0] == "inferred: 3.7 GB/s, a pass of 2.7 µs"
    assert 50 < float(rate[1].split(" ")[0]) < 56  # 10 kB in 0.18 µs
    assert "times the best two-sided MPI and " in gain[1] and "times PVM at 10\xa0kB" in gain[1]
    assert gain[2] == "holds"
    inferences = [row[0].split(",")[0] for row in rows.values() if row[0].startswith("inferred: ")]
    assert inferences == [
        f"inferred: {number}"
        for number in ("5.6\xa0µs", "1\u202f000 times from 10 B to 10 kB", "3.7 GB/s", "1.8 GB/s")
    ]


def test_the_studys_ethernet_stands_beside_an_emulated_hub_and_says_so() -> None:
    wire = {"region-udp": (5e-6, 0.9e-6), "mpi": (5e-6, 1.2e-6), "region": (5e-6, 1.2e-6)}
    findings = said(study_section(ring_data(wire, **HUB)))
    goodput = next(row for key, row in findings.items() if "almost the entire" in key)
    assert "of what the wire can carry, by UDP (EMULATED HUB: 10 Mbit/s)" in goodput[1]
    gain = next(row for key, row in findings.items() if "superior" in key)
    assert gain[1].startswith("1.3") and gain[2] == "holds"


def test_more_ranks_than_processors_stand_apart() -> None:
    data = ring_data(TRANSPORT_COSTS, case="3", placement="oversubscribed")
    first, *_ = answer_texts(study_section(data))
    assert first.startswith("More ranks than processors: in a node a region is passed in 0.1")


def test_goodput_on_a_hub_is_a_share_of_what_the_wire_can_carry() -> None:
    wire = 0.8e-6  # seconds a byte at 10 Mbit/s
    truth = {
        "region-udp": (150 * wire, wire),
        "mpi": (400e-6, wire),
        "pvm": (600e-6, wire),
        "pvm-xdr": (700e-6, wire),
    }
    goodputs = find_table(study_section(ring_data(truth, **HUB)), "Goodput at 1\xa0kB")
    limit, region, mpi, *pvm = goodputs.rows
    assert (limit[1].text, limit[2].text) == ("What the wire can carry", "1.17")
    assert [row[1].text for row in pvm] == ["PVM, raw", "PVM, XDR"]
    assert (region[-1].status_colour, region[-1].verdict) == ("bad", "not reached")
    assert 0.6 < float(mpi[-1].text.split()[0]) < 0.75
    quick = ring_data({"region-udp": (-5 * wire, wire)}, **HUB)
    _, region = find_table(study_section(quick), "Goodput at 1\xa0kB").rows
    assert region[-1].verdict == "reached"


def constant_verdict(ring: BundleData) -> str:
    findings = said(study_section(ring))
    return next(row[2] for key, row in findings.items() if "is a constant" in key)


def test_what_the_study_says_is_open_where_the_intervals_do_not_tell() -> None:
    rows = said(study_section(ring_data(TRANSPORT_COSTS, launches=5))).values()
    verdicts = [row[2] for row in rows][4:]
    # The constant time, the linear bandwidth, larger regions, and the gain over MPI.
    assert [verdict for verdict in verdicts if verdict] == ["open"] * 4
    variants = {name: times for name, times in TRANSPORT_COSTS.items() if name != "cache-line"}
    straddling = ring_data(variants, change=lambda i, _, size: 3 if i % 2 and size > 10 else 1)
    assert constant_verdict(straddling) == "open"
    rising = ring_data(variants, change=lambda i, _, size: 3 if size > 10 else 1)
    assert constant_verdict(rising) == "not constant"


def test_goodput_is_full_only_if_its_interval_is() -> None:
    quick = {"region-udp": (-4e-6, 0.8e-6), "mpi": (5e-6, 1.2e-6)}
    for launches, verdict in ((10, "holds"), (1, "open")):
        rows = said(study_section(ring_data(quick, launches=launches, **HUB)))
        assert next(row for key, row in rows.items() if "almost the entire" in key)[2] == verdict


def renamed(data: BundleData, name: str, **columns: pl.Expr) -> BundleData:
    """The same launches under other names, as another case, with `columns` of launches."""
    names = {
        "launch": pl.format("{}/{}", pl.lit(name), "launch"),
        "case_id": pl.lit(f"Ring@{name}"),
    }
    return replace(
        data,
        launches=data.launches.with_columns(**names, **columns),
        samples=data.samples.with_columns(**names),
    )


def together(*rings: BundleData) -> BundleData:
    return replace(
        rings[0],
        launches=pl.concat([data.launches for data in rings]),
        samples=pl.concat([data.samples for data in rings]),
    )


def test_rings_on_two_partitions_are_distinct() -> None:
    data = ring_data({"mpi": TRANSPORT_COSTS["mpi"]}, case="1+1", placement="one-per-node")
    moved = renamed(data, "y", partition=pl.lit("clusterB"))
    assert [panel.title for panel in RingCurves(together(data, moved)).panels] == [
        f"Open MPI, 2 ranks on 2 nodes, on virtual:cluster{name}" for name in "AB"
    ]


def test_a_pass_that_takes_twice_as_long_is_half_as_efficient() -> None:
    rings = [
        renamed(
            ring_data(
                {"mpi": (factor * 20e-6, factor * 1e-8)},
                case="+".join(["1"] * nodes),
                hosts=[f"node-{number}" for number in range(nodes)],
                placement="one-per-node",
            ),
            str(nodes),
        )
        for nodes, factor in ((2, 1.0), (4, 2.0))
    ]
    section = study_section(together(*rings))
    growth = find_table(section, "Efficiency and ranks by number of nodes")
    rows = [[cell.text for cell in cells] for cells in growth.rows]
    assert [row[:3] for row in rows] == [
        [f"A pass by MPI, {size}", "Open MPI, on a node each", "100\u00a0%, 2 ranks"]
        for size in ("1\u00a0MB", "1\u00a0kB")
    ]
    assert [float(row[3].split()[0]) for row in rows] == pytest.approx([50, 50], rel=0.1)
    assert any("Open MPI, 4 ranks on 4 nodes" in str(line.text) for line in section.panel_answers)
