"""The figures and sparklines of a series of nights, and its values packed for the page's script.

A page of 500 series and 365 nights holds 182,500 medians with two interval ends each.  A median is
the upper 24 bits of a 32-bit float, which is more than four digits.  An end is its distance from
the median in units of 1/20,000 of the median, in 16 bits.  Nodes, reason, launches and disturbed
launches of a point are an index into the page's combinations.  All are little-endian, in base64.
"""

from __future__ import annotations

import base64
import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from markupsafe import Markup

from roundtrip import units
from roundtrip.content import plot
from roundtrip.content.nights import JudgedSeries, NightVerdicts, series_fact_subjects
from roundtrip.content.plot import CHANGE, NOTE, STEP, Axis, Curve, Event, Plot, View
from roundtrip.content.series import Calendar, SeriesPoint, changes_of_series, display_unit
from roundtrip.report.drawing import ThumbnailDrawing
from roundtrip.units import UNPRINTED_UNITS, Unit

END_UNITS_PER_MEDIAN = 20_000
MISSING_END_CODE = 65_535
_MAX_END_CODE = MISSING_END_CODE - 1
_VALUES_PER_BYTE = 256
#: Maximum sets of nodes that have their own curve, in the order of their names.
MAX_NODE_SET_CURVES = 6
LEFT_OUT, SPIKES, DRIFT, OTHER_NODES = "Left out", "Stands alone", "Drift", "Other nodes"
_NODE_SET_COLOURS = (
    *(("#1f6fb4", "#6cb2ef"), ("#c2571a", "#f0955a"), ("#2a8a57", "#62c795")),
    *(("#8a4fb0", "#c194e6"), ("#a8861a", "#dcbc4f"), ("#b03a6a", "#ee86b2")),
)
_GREY, _AMBER = ("#5b6675", "#98a3b3"), ("#8a5a00", "#eebf62")
_FIGURE_WIDTH, _MAX_LABELS, _MAX_LABEL_LENGTH = 900.0, 5, 30
#: Sparkline: size, maximum points of its line, and minimum axis range as a fraction of the level,
#: because noise must not look like a change.
_SPARKLINE_SIZE, _SPARKLINE_POINTS, _MIN_AXIS_SPAN = (150.0, 28.0), 75, 0.04


def pack_all_series(
    judged_series: Sequence[JudgedSeries], plots: Sequence[Plot], calendar: Calendar
) -> dict[str, Any]:
    """All series packed, with outlines of their `plots`; "kinds": distinct `_point_attributes`."""
    all_points = (point for series in judged_series for point in series.data.points)
    kinds = sorted(set(map(_point_attributes, all_points)))
    kind_index = {kind: index for index, kind in enumerate(kinds)}
    packed_series = [
        _pack_series(series, figure.views, calendar, kind_index)
        for series, figure in zip(judged_series, plots, strict=True)
    ]
    return {"kinds": [list(kind) for kind in kinds], "series": packed_series}


def _pack_series(
    series: JudgedSeries,
    views: Sequence[View],
    calendar: Calendar,
    index_by_attributes: Mapping[tuple[Any, ...], int],
) -> dict[str, Any]:
    data, points = series.data, series.data.points
    factor, unit = display_unit(data)
    runs: list[int] = []  # of consecutive nights: first, count, first, count, ...
    for index in (calendar.index(point.night) for point in points):
        if runs and index == sum(runs[-2:]):
            runs[-1] += 1
        else:
            runs += [index, 1]
    medians = np.array([point.median for point in points])
    floats = medians.astype("<f4").view("<u4")
    ends = np.array([[getattr(point, end) for point in points] for end in ("low", "high")], float)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.rint(np.abs(ends - medians) / np.abs(medians) * END_UNITS_PER_MEDIAN)
    codes = np.where(np.isfinite(parts), np.minimum(parts, _MAX_END_CODE), MISSING_END_CODE)
    width = "<u2" if len(index_by_attributes) > _VALUES_PER_BYTE else "u1"
    kinds = [index_by_attributes[_point_attributes(point)] for point in points]
    names = [{"name": curve.name} for curve in views[0].curves]
    outlines = [plot.view_json_without_curves(view) | {"curves": names} for view in views]
    return {
        "key": data.key,
        "environ": data.environ,
        "unit": "" if unit in UNPRINTED_UNITS else unit,
        "factor": factor,
        "night": runs,
        # The upper three bytes of each float, rounded.
        "median": _encode_base64((floats + np.uint32(0x80)).view("u1").reshape(-1, 4)[:, 1:]),
        "ends": _encode_base64(codes.astype("<u2")),
        "kind": _encode_base64(np.array(kinds, width)),
        "spikes": list(series.history.spikes),
        "views": _round_to_six_digits(outlines),
        "sets": _node_sets(series),
    }


def _point_attributes(point: SeriesPoint) -> tuple[str, str, int, int]:
    return point.nodes, point.left_out, point.launches, point.disturbed


def _round_to_six_digits(value: Any) -> Any:
    """`value` with each float rounded to six digits, more than are printed."""
    if isinstance(value, dict):
        return {key: _round_to_six_digits(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_round_to_six_digits(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _encode_base64(values: Any) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def series_plot(
    series: JudgedSeries, verdicts: NightVerdicts, notes: Sequence[tuple[int, str]] = ()
) -> Plot:
    """A curve for each set of nodes, levels, events; a second view if the first omits values."""
    factor, unit = display_unit(series.data)
    direction = "lower" if series.data.lower_is_better else "higher"
    title = f"{series.data.metric_text}, {direction} is better"
    nights = verdicts.calendar.nights
    step = max(1, math.ceil(len(nights) / _MAX_LABELS))
    ticks = range(0, len(nights), step)
    x_scale = Axis(
        "Night",
        Unit.PURE_NUMBER,
        0.5,
        len(nights) + 0.5,
        is_log=False,
        ticks=tuple(float(index + 1) for index in ticks),
        tick_labels=tuple(verdicts.calendar.date_text(nights[index]) for index in ticks),
    )
    points = _points_with_curve_names(series, verdicts, factor)
    curves = _curves(series, verdicts, points)
    events = tuple(_events(series, verdicts, notes))
    usual_values = [point[1] for curve, point in points if curve not in (LEFT_OUT, SPIKES)]
    all_values = [point[1] for _, point in points]
    ends = [end for _, point in points for end in point[2:4] if end is not None]
    low, high = _axis_range(usual_values or all_values)

    def view(name: str, low: float, high: float) -> View:
        y = Axis(title, unit, low, high, is_log=False)
        return View(
            name, x_scale, y, curves, has_interval_bars=True, events=events, width=_FIGURE_WIDTH
        )

    views = [view("Usual values", low, high)]
    if not all(low <= value <= high for value in all_values):
        views.append(view("All values", *_axis_range([*all_values, *ends])))
    return Plot(series.data.title, series.data.subtitle, tuple(views))


def sparkline(
    values: Sequence[float | None],
    step_indices: Collection[int] = (),
    spike_indices: Collection[int] = (),
) -> Markup:
    """A sparkline of `values` in order, with a gap for None; "" without usual values.

    A line marks each change point of `step_indices`; the scale ignores those of `spike_indices`.
    """
    known_values = [(index, v) for index, v in enumerate(values) if v is not None]
    usual_values = [v for index, v in known_values if index not in spike_indices]
    if not usual_values:
        return Markup("")
    low, high = min(usual_values), max(usual_values)
    middle, half = (low + high) / 2, (high - low) / 2
    half = max(half, _MIN_AXIS_SPAN / 2 * abs(middle), math.ulp(1.0))
    newest = (*known_values[-1], None, None, None)
    point = Curve("newest", _GREY, (newest,), line_width=0)
    # Each point is the median over a few consecutive values.
    count = max(1, math.ceil(len(values) / _SPARKLINE_POINTS))
    points: list[plot.CurvePoint] = []
    for start in range(0, len(values), count):
        chunk = values[start : start + count]
        known = [value for value in chunk if value is not None]
        place = start + (len(chunk) - 1) / 2
        points.append((place, median(known) if known else math.nan, None, None, None))
    curves = (Curve("nights", _GREY, tuple(points), line_width=1.2, point_radius=0), point)
    y_scale = Axis("", Unit.PURE_NUMBER, middle - half, middle + half, is_log=False)
    x_scale = Axis("", Unit.PURE_NUMBER, 0, max(1, len(values) - 1), is_log=False)
    events = tuple(Event(index - 0.5, STEP) for index in sorted(step_indices))
    view = View("", x_scale, y_scale, curves, events=events)
    return ThumbnailDrawing(view, _SPARKLINE_SIZE).thumbnail()


def _node_sets(series: JudgedSeries) -> list[str]:
    """The sets of nodes that have their own curve."""
    return sorted({point.nodes for point in series.data.points})[:MAX_NODE_SET_CURVES]


def _node_set_names(node_sets: Sequence[str]) -> list[str]:
    names = [ids or "All nodes" for ids in node_sets]
    for n, ids in enumerate(node_sets):
        if len(ids) > _MAX_LABEL_LENGTH:
            names[n] = f"Set {n + 1}: {ids.count('+') + 1} nodes"
    return names


def _points_with_curve_names(
    series: JudgedSeries, verdicts: NightVerdicts, factor: float
) -> list[tuple[str, plot.CurvePoint]]:
    """(Name of the curve, point) of each value of the series; a point's x is its night's number."""
    node_sets = _node_sets(series)
    names = dict(zip(node_sets, _node_set_names(node_sets), strict=True))
    spikes = set(series.history.spikes)
    points: list[tuple[str, plot.CurvePoint]] = []
    for night, nodes, value, low, high, reason, launches, *_ in series.data.points:
        index = verdicts.calendar.index(night)
        curve = LEFT_OUT if reason else SPIKES if index in spikes else names.get(nodes, OTHER_NODES)
        ends = [None if end is None else end * factor for end in (low, high)]
        points.append((curve, (index + 1, value * factor, ends[0], ends[1], launches)))
    return points


def _curves(
    series: JudgedSeries, verdicts: NightVerdicts, points: Sequence[tuple[str, plot.CurvePoint]]
) -> tuple[Curve, ...]:
    by_curve: dict[str, list[plot.CurvePoint]] = defaultdict(list)
    for name, point in points:
        by_curve[name].append(point)
    names = [*_node_set_names(_node_sets(series)), OTHER_NODES]
    size = min(3.4, max(1.6, 0.42 * _FIGURE_WIDTH / len(verdicts.calendar.nights)))
    shapes = plot.CIRCLE, plot.SQUARE
    curves = [
        Curve(
            name,
            _NODE_SET_COLOURS[n % MAX_NODE_SET_CURVES],
            tuple(by_curve[name]),
            line_width=0,
            point_shape=shapes[n % 2],
            point_radius=size,
            level_segments=tuple(_level_segments(series, verdicts, by_curve[name])),
        )
        for n, name in enumerate(names)
    ]
    for name, colour, shape in ((LEFT_OUT, _GREY, plot.SQUARE), (SPIKES, _AMBER, plot.CIRCLE)):
        odd = tuple(by_curve[name])
        mark = Curve(name, colour, odd, line_width=0, point_shape=shape, point_radius=size + 1)
        curves.append(mark)
    curves = [curve for curve in curves if curve.points]
    if drift := _drift_curve(series, verdicts, points):
        curves.append(drift)
    return tuple(curves)


def _level_segments(
    series: JudgedSeries, verdicts: NightVerdicts, points: Sequence[plot.CurvePoint]
) -> list[tuple[float, float, float]]:
    """(Start, end, median) of a set of nodes for each segment between change points."""
    if series.history.drift:
        return []
    cuts = [0, *(step.night for step in series.history.steps), len(verdicts.calendar.nights)]
    levels = []
    for first, last in itertools.pairwise(cuts):
        values = [point[1] for point in points if first < point[0] <= last]
        if values and (len(values) >= 3 or len(_node_sets(series)) == 1):
            levels.append((first + 0.5, last + 0.5, median(values)))
    return levels


def _drift_curve(
    series: JudgedSeries, verdicts: NightVerdicts, points: Sequence[tuple[str, plot.CurvePoint]]
) -> Curve | None:
    """The line of the drift through the middle of the nights used; None without a drift."""
    drift = series.history.drift
    used_points = [point for curve, point in points if curve not in (LEFT_OUT, SPIKES)]
    if not drift or not used_points:
        return None
    nights = verdicts.calendar.nights
    calendar = verdicts.calendar
    days = {point[0]: calendar.days_since_1970(nights[int(point[0]) - 1]) for point in used_points}
    level = median(point[1] for point in used_points)
    middle = median(days[point[0]] for point in used_points)

    def at(number: float) -> float:
        return float(level * drift.yearly_ratio ** ((days[number] - middle) / 365.25))

    places = sorted(days)
    ends = [places[len(places) * part // 20] for part in range(20)] + [places[-1]]
    drift_points = tuple((place, at(place), None, None, None) for place in sorted(set(ends)))
    return Curve(DRIFT, _AMBER, drift_points, is_dashed=True, point_radius=0, line_meaning="")


def _events(
    series: JudgedSeries, verdicts: NightVerdicts, notes: Sequence[tuple[int, str]]
) -> Iterator[Event]:
    series_subjects = series_fact_subjects(series.data)
    for night, changes in verdicts.changes_by_night.items():
        if changes_of_series(changes, series_subjects):
            yield Event(verdicts.calendar.index(night) + 0.5, CHANGE)
    for night_index, text in notes:
        if len(text) > _MAX_LABEL_LENGTH:
            text = f"{text[: _MAX_LABEL_LENGTH - 1]}\N{HORIZONTAL ELLIPSIS}"
        yield Event(night_index + 0.5, NOTE, text)
    for step in series.history.steps:
        ratio = f"\N{MULTIPLICATION SIGN} {units.ratio_to_level(step.ratio)}"
        yield Event(step.night + 0.5, STEP, ratio)


def _axis_range(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the axis: the values with a margin, so wide that noise looks small."""
    low, high = min(values), max(values)
    middle = (low + high) / 2
    half = max((high - low) * 0.62, abs(middle) * 0.015) or 1.0
    return middle - half, middle + half
