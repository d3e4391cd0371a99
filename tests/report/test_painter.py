"""Drawings: whatever the values, valid XML, inside the frame or clipped, the same each time."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.audited import chart_with_limit, line_chart

from roundtrip.content.blocks import Figure
from roundtrip.content.plot import (
    DIAMOND,
    LINK_BOUND_NAME,
    SQUARE,
    TRIANGLE,
    Axis,
    Curve,
    CurvePoint,
    HeatMap,
    HeatMapCell,
    Plot,
    ReferenceLine,
    View,
)
from roundtrip.report import painter, svg
from roundtrip.units import Unit

COLOUR = ("#0b4f94", "#a9d3fb")
SIZES = Axis("Message size", Unit.BYTES, 1, 1 << 20, True)
RATES = Axis("Bandwidth", Unit.MB_S, 0.1, 1000, True)
HOSTILE = '</title><script>alert("&1")</script>\x07]]>--%s'
values = st.floats(min_value=1e-9, max_value=1e12)
any_points = st.lists(st.tuples(st.integers(1, 1 << 30), values, values, values), max_size=20)


def view(*points: CurvePoint, **changes: object) -> View:
    curve = Curve("Boost.MPI", COLOUR, points)
    return replace(View("Bandwidth", SIZES, RATES, (curve,)), **changes)  # type: ignore[arg-type]


def drawing(panel: View, title: str = "Title", alt: str = "alt") -> str:
    return next(painter.svg_files(Figure("one", alt, Plot(title, "subtitle", (panel,)))))


def on_page(panel: View) -> str:
    return painter.page_drawings(Figure("one", "", Plot("", "", (panel,))))[0]


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314  our own drawing


def size(root: ElementTree.Element) -> list[float]:
    """Width and height in the drawing's own units."""
    return list(map(float, root.attrib["viewBox"].split()[2:]))


def named(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if element.get("class") == name]


@given(any_points)
def test_whatever_the_values_what_leaves_the_frame_is_clipped(rows: list[CurvePoint]) -> None:
    points = tuple(
        (x, median, min(low, median), max(high, median), 9) for x, median, low, high in rows
    )
    panel = view(*sorted(points), reference_lines=(ReferenceLine(1.0),), shaded_range=(0.9, 1.1))
    text = drawing(panel)
    root = parsed(text)
    assert "nan" not in text and "inf" not in text
    (marks,) = named(root, "marks")
    assert marks.get("clip-path") == "url(#clip-one-0)"
    elements = [element for kind in ("band", "line") for element in named(root, kind)]
    assert set(elements) <= set(marks.iter())
    width, _ = size(root)
    for element in root.iter():
        if element not in set(marks.iter()) and element.tag.endswith("text"):
            assert -width <= float(element.get("x") or 0) <= width
    assert drawing(panel) == text


def test_places_are_those_of_the_values() -> None:
    frame = on_page(view((1, 0.1, None, None, 1), (1 << 20, 1000, None, None, 1)))
    left, top, right, bottom = map(float, re.search(r'data-frame="([^"]*)"', frame)[1].split())  # type: ignore[index]
    line = re.search(r'class="line"[^>]* d="M([^"]*)"', frame)[1]  # type: ignore[index]
    ends = [tuple(map(float, place.split(","))) for place in line.split("L")]
    assert ends == [(left, bottom), (right, top)]


def test_bands_break_where_there_is_no_interval_and_bars_stand_at_their_points() -> None:
    points = ((1, 5.0, 4.0, 6.0, 9), (2, 5.0, None, None, 3), (4, 5.0, 4.0, 6.0, 9))
    (band,) = named(parsed(drawing(view(*points))), "band")
    assert (band.get("d") or "").count("M") == 2
    root = parsed(drawing(view(*points, has_interval_bars=True)))
    (bars,) = named(root, "bars")
    assert (bars.get("d") or "").count("M") == 2 and not named(root, "band")


def test_what_a_logarithm_cannot_show_is_left_out_and_the_rest_is_drawn() -> None:
    root = parsed(drawing(view((1, 0.0, -1.0, 3.0, 9), (2, 5.0, 0.0, 6.0, 9), (0, 5.0, 4, 6, 9))))
    assert len(named(root, "dot")) == 2  # one of the curve, one of the sign before its name
    assert not named(root, "band")


def test_signs_have_shapes_dashes_and_both_colours() -> None:
    points = ((1, 5.0, None, None, 1), (2, 6.0, None, None, 1))
    curves = tuple(
        Curve(shape, COLOUR, points, is_dashed=shape == SQUARE, point_shape=shape)
        for shape in (SQUARE, TRIANGLE, DIAMOND)
    )
    text = drawing(view(curves=curves))
    assert text.count('-dasharray="6 4"') == 2 and text.count('-dasharray="5 3"') == 1
    assert text.count("translate(") >= 3 * 3
    assert f'stroke="{COLOUR[0]}"' in text and f"--dark:{COLOUR[1]}" in text
    assert "prefers-color-scheme: dark" in text and "var(--ink)" in text


def test_a_line_of_many_points_has_few_marks() -> None:
    points = tuple((1 + n, 5.0, None, None, 1) for n in range(50))
    assert len(named(parsed(drawing(view(*points))), "dot")) == 11  # one is that of its sign


def test_names_at_the_ends_are_apart_and_inside() -> None:
    point = (4, 5.0, None, None, 1)
    curves = tuple(Curve(f"name {n}", COLOUR, (point,)) for n in range(8))
    root = parsed(drawing(view(curves=curves)))
    (names,) = named(root, "names")
    places = [re.findall(r"[\d.]+", name.get("transform") or "") for name in names]
    heights = [float(y) for _, y in places]
    assert all(b - a >= 15.9 for a, b in pairwise(heights))
    assert heights[0] > 0 and heights[-1] < size(root)[1]


def test_rows_have_their_names_and_a_legend_only_if_several_share_a_row() -> None:
    scale = Axis("Time", Unit.US, 0, 10, False)
    one = Curve("one", COLOUR, ((0, 3.0, 2.0, 4.0, 9),))
    other = Curve("other", COLOUR, ((1, 5.0, None, None, 3),))
    panel = View("Time", scale, None, (one, other), ("first", "second"))
    root = parsed(drawing(panel))
    assert [text.text for text in named(root, "rows")[0]] == ["first", "second"]
    assert len(named(root, "names")[0]) == 0 and len(named(root, "bars")) == 1
    shared_panel = replace(panel, curves=(one, replace(other, points=((0, 5.0, None, None, 3),))))
    assert len(named(parsed(drawing(shared_panel)), "names")[0]) == 2


def test_a_value_beyond_the_axis_of_rows_is_a_number_at_its_end() -> None:
    scale = Axis("Overhead", Unit.PERCENT, -60, 100, False)
    points = tuple((row, value, None, None, 9) for row, value in enumerate((-182.4, 20.0, 120.0)))
    rows = View("All", scale, None, (Curve("one", COLOUR, points),), ("first", "second", "third"))
    (marks,) = named(parsed(drawing(rows)), "marks")
    texts = [element.text for element in marks.iter() if element.tag.endswith("text")]
    assert texts == ["\N{MINUS SIGN}182", "120"]
    joined = replace(rows, bracketed_rows=frozenset({2}))
    axes = [len(named(parsed(drawing(panel)), "axis")) for panel in (rows, joined)]
    assert axes[1] == axes[0] + 1


def test_no_room_is_kept_for_a_legend_under_curves_and_a_lone_point_is_seen() -> None:
    points = ((1, 5.0, None, None, 1), (2, 6.0, None, None, 1))
    curves = tuple(Curve(name, COLOUR, points, point_radius=0.0) for name in ("one", "other"))
    texts = [on_page(view(curves=curves[:n])) for n in (1, 2)]
    heights = [re.search(r'viewBox="0 0 \S+ (\S+)"', text)[1] for text in texts]  # type: ignore[index]
    assert heights[0] == heights[1]
    assert not named(parsed(drawing(view(curves=curves))), "dot")
    lone_curve = replace(curves[0], points=points[:1])
    assert len(named(parsed(drawing(view(curves=(lone_curve,)))), "dot")) == 1


def test_parts_of_a_bar_stand_side_by_side() -> None:
    scale = Axis("Time", Unit.PERCENT, 0, 100, False)
    parts = tuple(
        Curve(name, COLOUR, ((1, value, None, None, None),))
        for name, value in (("a", 25), ("b", 75))
    )
    heads = {"is_stacked": True, "header_rows": frozenset({0})}
    text = on_page(View("Parts", scale, None, parts, ("head", "bar"), **heads))  # type: ignore[arg-type]
    bars = [re.findall(r"(-?[\d.]+),", d) for d in re.findall(r'd="(M[^"]*Z)"', text)]
    first, second = (sorted({float(x) for x in bar}) for bar in bars[:2])
    assert first[1] == second[0] and (second[1] - first[0]) == pytest.approx(340, abs=0.2)
    assert (first[1] - first[0]) == pytest.approx(85, abs=0.2)


@pytest.mark.parametrize("is_map", [False, True])
def test_hostile_words_are_text(is_map: bool) -> None:
    if is_map:
        cells = (HeatMapCell(0, 1, HOSTILE, 5.0, 3),)
        heat = HeatMap(HOSTILE, HOSTILE, "", (HOSTILE, "b"), frozenset(), cells)
        text = next(painter.svg_files(Figure("one", HOSTILE, heat)))
    else:
        curve = Curve(HOSTILE, COLOUR, ((1, 5.0, None, None, 1),))
        x = Axis(HOSTILE, Unit.PURE_NUMBER, 1, 2, True)
        text = drawing(view(curves=(curve,), x_axis=x), HOSTILE, HOSTILE)
    root = parsed(text)
    tags = {element.tag.rsplit("}", 1)[-1] for element in root.iter()}
    shapes = {"g", "path", "rect", "circle", "text", "clipPath"}
    assert tags <= {"svg", "title", "desc", "style", *shapes}
    assert "<script" not in text and not re.search(r"\son\w+=", text)


@example(0.5, 800002.0, False, 2.0)
@given(st.floats(1e-6, 1e9), st.floats(1.01, 1e6), st.booleans(), st.floats(2, 12))
def test_ticks_lie_on_the_axis_and_there_are_some(
    low: float, factor: float, is_log: bool, count: float
) -> None:
    scale = Axis("Time", Unit.US, low, low * factor, is_log)
    ticks = svg.axis_ticks(scale, count)
    assert 1 <= len(ticks) <= 3 * count + 4
    assert list(ticks) == sorted(set(ticks))
    assert all(-1e-6 <= scale.relative_position(value) <= 1 + 1e-6 for value in ticks)
    assert all(svg.tick_label(value, scale) for value in ticks)


def test_ticks_of_bytes_are_powers_of_two_and_others_read_well() -> None:
    sizes = svg.axis_ticks(SIZES, 5)
    assert [svg.tick_label(tick, SIZES) for tick in sizes] == [
        "1\xa0B", "32\xa0B", "1\xa0KiB", "32\xa0KiB", "1\xa0MiB",
    ]  # fmt: skip
    percent = Axis("Overhead", Unit.PERCENT, -120, 310, False)
    labels = [svg.tick_label(tick, percent) for tick in svg.axis_ticks(percent, 5)]
    assert labels == ["\N{MINUS SIGN}100", "0", "100", "200", "300"]
    nodes = Axis("Nodes", Unit.PURE_NUMBER, 2, 24, True, ticks=(2, 8, 24))
    assert svg.axis_ticks(nodes, 5) == (2, 8, 24)
    assert svg.tick_label(12345.0, percent) == "12\u202f345"
    assert svg.tick_label(0.25, percent) == "0.25"


@given(st.text(min_size=1, max_size=200), st.floats(50, 400))
def test_lines_of_text_have_all_its_words(text: str, room: float) -> None:
    lines = svg.wrap_text(text, room)
    assert " ".join(lines).split() == text.split()
    assert all(svg.text_width(line) <= room or " " not in line for line in lines)
    assert math.isfinite(svg.text_width(text))


def test_a_map_has_a_cell_for_each_value_and_says_what_colours_mean() -> None:
    cells = tuple(
        HeatMapCell(a, b, "52 µs", effect, 4) for a, b, effect in ((0, 1, 0), (1, 0, 250))
    )
    heat = HeatMap("Latency", "sub", "latency", ("a", "b"), frozenset({"b"}), cells)
    figure = Figure("one", "alt", heat)
    text = next(painter.svg_files(figure))
    assert len(re.findall("data-at=", text)) == 2
    assert "* b" in text and "worse than usual (%)" in text
    root = parsed(painter.page_drawings(figure)[0])
    fills = {element.get("fill") for element in root.iter() if element.get("class") == "curve"}
    assert {"#f1f2f4", "#b3261e"} <= fills


def test_names_are_spread_apart_in_their_order() -> None:
    place_by_name = svg.space_out({0: 10, 1: 11, 2: 12, 3: 98, 4: 99}, 15, 4, 100)
    assert sorted(place_by_name, key=lambda name: place_by_name[name]) == [0, 1, 2, 3, 4]
    places = sorted(place_by_name.values())
    assert all(b - a >= 15 for a, b in pairwise(places))
    assert places[0] >= 4 and places[-1] <= 100


def test_what_a_figure_draws_is_what_its_views_say() -> None:
    ratio = replace(chart_with_limit(), y_axis=Axis("Ratio to raw MPI", Unit.RATIO, 0, 2, False))
    plot = Plot("one", "", (line_chart(), ratio))
    size = "Message size (bytes)"
    axes = [axis.title for view in plot.views for axis in (view.x_axis, view.y_axis) if axis]
    assert axes == [size, "Time (µs)", size, "Ratio to raw MPI"]
    assert [view.line_meanings for view in plot.views] == [("sizes",)] * 2
    assert plot.has_intervals
    assert [view.bound_names for view in plot.views] == [(), (LINK_BOUND_NAME,)]
    bound_curve = replace(plot.views[0].curves[0], bound_name="ideal")
    assert replace(ratio, curves=(bound_curve,)).line_meanings == (), "nothing is measured on it"
    assert replace(ratio, curves=(bound_curve,)).bound_names == (LINK_BOUND_NAME, "ideal")
