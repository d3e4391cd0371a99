"""Figures show the intervals that are there, name every arm, and share their axes."""

import re
from dataclasses import replace

import polars as pl
import pytest
from support.measured import METRIC, STUDY, MeasuredCase, measured_bundle

from roundtrip import units
from roundtrip.content.plot import CIRCLE, SQUARE
from roundtrip.measure import analysis
from roundtrip.report.painter import svg_files
from roundtrip.stats.verdicts import judge
from roundtrip.studies import display
from roundtrip.studies.display import (
    Drawing,
    curve_figures_over_size,
    curve_rows,
    decade_range,
    dot_figures,
    panel_drawing,
    size_scale,
)
from roundtrip.studies.panel import CasePanels
from roundtrip.study import BLUE, ORANGE, Arm, palette
from roundtrip.units import Unit

ARMS = {"mpi": Arm("MPI_Barrier", BLUE), "ring": Arm("Messages in a ring", ORANGE)}


def drawings(*cases: MeasuredCase) -> list[Drawing]:
    panels = CasePanels(measured_bundle(cases), STUDY, METRIC)
    frame = curve_rows(panels.intervals, 1e6)
    return [
        panel_drawing(f"barrier-{number}", panel, panels.panel_rows(frame, panel), ARMS)
        for number, panel in enumerate(panels.panels, 1)
    ]


def test_dots_have_a_bar_where_there_is_an_interval() -> None:
    cases = (
        MeasuredCase("Barrier@a", {"mpi": 10, "ring": 20}),
        MeasuredCase("Barrier@b", {"mpi": 5}, 3),
    )
    fig_a, fig_b = dot_figures(drawings(*cases), "Time of a barrier", "Time", Unit.US)
    assert fig_a.alt_text == "Time of a barrier: Open MPI, 2 ranks in one node"
    svg = next(svg_files(fig_a))
    assert "MPI_Barrier" in svg and "Messages in a ring" in svg and "8 launches" in svg
    assert (svg.count('class="bars"'), svg.count("<circle")) == (2, 2)
    assert f'fill="{BLUE[0]}"' in svg and f"--dark:{BLUE[1]}" in svg
    svg = next(svg_files(fig_b))
    assert 'class="bars"' not in svg and "Messages in a ring" not in svg


def test_only_an_arm_that_is_an_upper_bound_is_drawn_as_one() -> None:
    (drawing,) = drawings(MeasuredCase("Barrier@a", {"mpi": 10, "ring": 20}))
    arms = {**ARMS, "ring": replace(ARMS["ring"], is_upper_bound=True)}
    assert [curve.bound_name for curve in replace(drawing, arms=arms).curves] == [
        *("", "Messages in a ring")
    ]


def test_small_ratios_are_also_said_as_times() -> None:
    slow = display.ratio_range_cell([0.0062, 0.0092], "bad", "agrees")
    assert units.printable(slow.text) == "0.0062 to 0.0092 (109 to 161 times slower)"
    near = display.ratio_range_cell([0.5, 1.02], "good", "agrees")
    assert units.printable(near.text) == "0.50 to 1.02"
    levels = analysis.default_settings().statistics
    verdicts = judge({"slow": [0.16 + 0.001 * k for k in range(9)], "par": [1.0] * 9}, levels)
    words = [units.printable(display.verdict_cell(one).verdict) for one in verdicts.values()]
    assert words == ["6.1 times slower", "on par"]


def test_curves_have_bands_and_names_at_their_ends_and_share_their_axes() -> None:
    slow_case = MeasuredCase("Barrier@b", {"ring": 9000}, 3, (1, 1 << 20))
    fast_case = MeasuredCase("Barrier@a", {"mpi": 10, "ring": 20}, 8, (1, 1024))
    names = "Over size", "Time", Unit.US
    figures = curve_figures_over_size(drawings(fast_case, slow_case), *names)
    fast_svg, slow_svg = (next(svg_files(figure)) for figure in figures)
    for svg in (fast_svg, slow_svg):
        ticks = re.findall(r">([0-9\u202f]+)</text>", svg)
        assert "10" in ticks and "1\u202f000\u202f000\u202f000" in ticks
        assert "Messages in a ring" in svg
    assert (fast_svg.count('class="band"'), fast_svg.count('class="line"')) == (2, 2)
    assert (slow_svg.count('class="band"'), slow_svg.count('class="line"')) == (0, 1)  # 3 launches
    assert curve_figures_over_size([], *names) == () == dot_figures([], *names)


def test_arms_that_lie_on_each_other_have_points_of_their_own_shape_on_each_panel() -> None:
    cases = (
        MeasuredCase("Barrier@a", {"mpi": 10, "ring": 10}),
        MeasuredCase("Barrier@b", {"ring": 9}),
    )
    both, ring = (
        {curve.name: curve.point_shape for curve in panel.curves} for panel in drawings(*cases)
    )
    assert both == {"MPI_Barrier": CIRCLE, "Messages in a ring": SQUARE}
    assert ring == {"Messages in a ring": SQUARE}


def test_an_arm_that_nobody_named_is_not_drawn_and_stretches_no_axis() -> None:
    case = MeasuredCase("Barrier@a", {"mpi": 10, "window": 9000})
    (figure,) = dot_figures(drawings(case), "Time", "Time", Unit.US)
    svg = next(svg_files(figure))
    assert "window" not in svg and ">2\u202f000<" not in svg
    assert svg.count("<circle") == 1


def test_one_size_alone_has_an_axis_around_it() -> None:
    axis = size_scale(drawings(MeasuredCase("Barrier@a", {"mpi": 10}, sizes=(8,))))
    assert (axis.low, axis.high, axis.relative_position(8)) == (4.0, 16.0, pytest.approx(0.5))


@pytest.mark.parametrize(("ends", "arrow"), [((10.0, 1000.0), "↑"), ((1e6, 1e7), "↓")])
def test_a_curve_that_leaves_the_axis_is_marked_at_its_end(
    ends: tuple[float, float], arrow: str
) -> None:
    case = MeasuredCase("Barrier@a", {"mpi": 10}, sizes=(1, 1024))
    (figure,) = curve_figures_over_size(drawings(case), "Over size", "Time", Unit.US, ends)
    assert f"MPI_Barrier {arrow}" in next(svg_files(figure))


def test_decades_hold_the_bands_as_well() -> None:
    frame = pl.DataFrame({"median": [2.0, 30.0], "low": [0.5, None], "high": [3.0, None]})
    assert decade_range([frame]) == (0.1, 100.0)
    assert decade_range([frame], 1e4) == (0.1, 1e4)
    assert decade_range([frame.with_columns(low=None, high=None)]) == (1.0, 100.0)
    one_value = pl.DataFrame({"median": [10.0], "low": None, "high": None})
    assert decade_range([one_value]) == (10.0, 100.0)


def test_a_palette_has_a_colour_for_every_name() -> None:
    colours = palette("abcdefg")
    assert len(set(colours.values())) == 6 and colours["a"] == colours["g"] == BLUE


def test_a_verdict_has_its_own_words_or_those_of_the_study() -> None:
    levels = analysis.default_settings().statistics
    (faster,) = judge({"one": [2.0 + 0.01 * k for k in range(9)]}, levels).values()
    cell = display.verdict_cell(faster, series_key="key")
    assert cell.text.startswith("2.04 [") and cell.series_key == "key"
    assert (cell.verdict, cell.status_colour) == ("faster", "good")
    assert display.verdict_cell(faster, text="holds").verdict == "holds"
    assert display.verdict_cell(None, text="holds") == display.NOT_MEASURED_CELL
