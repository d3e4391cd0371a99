"""What detection finds in real series, which nobody annotated, by mechanical rules; and a picture.

A step is obvious if the medians of 15 nights on either side differ by more than 6 robust standard
deviations and by more than 2 %, and 13 of 15 nights on either side are clear of the other level.
An alarm is unsupported if the area under the ROC curve between the 20 nights on either side, cut at
the neighbouring alarms, is below 0.65.  A stretch of 100 nights without an alarm has no order that
matters: any step in it is false once it is shuffled.

``python -m tools.calibration.real SERIES OTHERS SVG`` draws the series as one picture, with the
change points that Roundtrip and other detectors have in each.  SERIES is a file for
`read_series`; all of its series are judged as one site.  OTHERS is JSON: by ``source/series`` and
detector, the nights at which its change points begin.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from markupsafe import Markup
from polars.exceptions import PolarsError
from pydantic import TypeAdapter, ValidationError

from roundtrip.errors import UserError
from roundtrip.measure import analysis
from roundtrip.report import painter, svg
from roundtrip.report.drawing import INK, MUTED, colour_group
from roundtrip.report.svg import coordinate_text, element
from roundtrip.stats.nights.judge import judge_nights
from roundtrip.stats.nights.segments import roc_separation
from roundtrip.stats.nights.verdicts import SeriesHistory
from roundtrip.stats.settings import NightSettings
from roundtrip.stats.summaries import robust_sd
from tools.calibration import Demand, Estimate, TableOutput
from tools.calibration.nights import SITE_SERIES

_WINDOW_NIGHTS, _MIN_CLEAR_NIGHTS, _MIN_STEP_SDS, _MIN_STEP, _MIN_SD = 15, 13, 6.0, 0.02, 0.002
_ROC_NIGHTS, _MIN_SUPPORT = 20, 0.65
_MATCH_NIGHTS, _AFTERSHOCK_NIGHTS = 7, 60
_STRETCH_NIGHTS, _MAX_STRETCHES = 100, 600
_SERIES_COLUMNS = ("source", "series", "night", "value")
#: Pixels: the drawing area of a series, the lane of a detector, and the space around them.
_WIDTH, _HEIGHT, _LANE, _HEAD, _GAP = 430.0, 84.0, 13.0, 22.0, 26.0
_PANEL_COLUMNS, _NAME_WIDTH = 2, 120.0
#: Colours of points, Roundtrip, and other detectors, on a light and on a dark page.
_POINT_COLOURS, _ROUNDTRIP_COLOURS = ("#5b6675", "#a9b4c2"), ("#0b4f94", "#7db8f0")
_DETECTOR_COLOURS = (("#a4500f", "#f0a060"), ("#1d6b43", "#6fcf97"), ("#7a3b8f", "#d29be0"))
_CLIPPED_SHARE = 0.01  # maximum share of nights outside the drawing area, on either side

NightsByDetector = Mapping[str, Sequence[int]]
_DETECTIONS_TYPE = TypeAdapter(dict[str, dict[str, list[int]]])


def read_series(file: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return logarithms in the order of the nights, by source and series; UserError unless `file`
    is parquet with the columns source, series, night and value (above 0)."""
    try:
        frame = pl.read_parquet(file, columns=list(_SERIES_COLUMNS))
    except (OSError, PolarsError) as error:
        hint = f"right is parquet with the columns {', '.join(_SERIES_COLUMNS)}"
        raise UserError(f"no table of nights: {hint}", file) from error
    if not frame["value"].dtype.is_numeric() or not (frame["value"] > 0).all():
        raise UserError("each value must be a number above 0", file)
    sources: dict[str, dict[str, np.ndarray]] = {}
    sorted_frame = frame.sort("source", "series", "night")
    for group in sorted_frame.partition_by("source", "series", maintain_order=True):
        source, series = map(str, group.select("source", "series").row(0))
        sources.setdefault(source, {})[series] = np.log(group["value"].to_numpy())
    return sources


def detection_counts(
    sources: Mapping[str, Mapping[str, np.ndarray]], settings: NightSettings, seed: int
) -> Iterator[TableOutput]:
    """Yield counts of right and false detections, with demands; a source is judged as a site."""
    rng = np.random.default_rng(seed)
    hits = total = near_hits = near_total = alarms = unsupported_count = stretches = (
        false_stretches
    ) = 0
    for source, series_by_name in sources.items():
        series = list(series_by_name.values())
        point_lists = _change_points(series, settings)
        permutations: list[np.ndarray] = []
        for values, points in zip(series, point_lists, strict=True):
            steps = list(obvious_steps(values))
            is_hit = [any(abs(step - point) <= _MATCH_NIGHTS for point in points) for step in steps]
            is_near = [
                any(0 < step - other <= _AFTERSHOCK_NIGHTS for other in steps) for step in steps
            ]
            hits, total = hits + sum(is_hit), total + len(steps)
            near_hits += sum(a and b for a, b in zip(is_hit, is_near, strict=True))
            near_total += sum(is_near)
            alarms += len(points)
            unsupported_count += sum(
                _alarm_support(values, at, points) < _MIN_SUPPORT for at in points
            )
            permutations += [
                rng.permutation(stretch) for stretch in _quiet_stretches(values, points)
            ]
        permutations = permutations[: max(0, _MAX_STRETCHES - stretches)]
        stretches += len(permutations)
        false_stretches += sum(bool(points) for points in _change_points(permutations, settings))
        yield f"  {source}: {len(series)} series, {sum(map(len, point_lists))} change points"
    near = "real: of these, with another within 60 nights before"
    stretch = "real: shuffled quiet stretches with an alarm"
    for row, events, trials, demand in (
        ("real: obvious steps found", hits, total, Demand(0.92)),
        (near, near_hits, near_total, Demand(0.88)),
        ("real: alarms unsupported", unsupported_count, alarms, Demand(0.01, is_maximum=True)),
        (stretch, false_stretches, stretches, Demand(1 / SITE_SERIES, is_maximum=True)),
    ):
        share = f"{events / trials:.1%}" if trials else "none"
        yield f"{row}: {events} of {trials}, {share}"
        if trials:
            yield Estimate(row, events, trials, demand)


def obvious_steps(values: np.ndarray) -> Iterator[int]:
    """Yield the nights at which obvious steps begin, the clearest first."""
    score = np.zeros(values.size)
    for at in range(_WINDOW_NIGHTS, values.size - _WINDOW_NIGHTS + 1):
        before, after = values[at - _WINDOW_NIGHTS : at], values[at : at + _WINDOW_NIGHTS]
        low, high = float(np.median(before)), float(np.median(after))
        spread = max(robust_sd(before), robust_sd(after), _MIN_SD)
        size = high - low
        if abs(size) <= max(_MIN_STEP_SDS * spread, _MIN_STEP):
            continue
        clear_counts = [
            int(np.sum(np.sign(size) * distance > 3 * spread))
            for distance in (after - low, high - before)
        ]
        if min(clear_counts) >= _MIN_CLEAR_NIGHTS:
            score[at] = abs(size) / spread + sum(clear_counts)
    while score.max(initial=0) > 0:
        at = int(score.argmax())
        yield at
        score[max(0, at - _WINDOW_NIGHTS) : at + _WINDOW_NIGHTS] = 0


def _change_points(series: Sequence[np.ndarray], settings: NightSettings) -> list[list[int]]:
    return [[step.night for step in history.steps] for history in judge_series(series, settings)]


def judge_series(series: Sequence[np.ndarray], settings: NightSettings) -> list[SeriesHistory]:
    """Judge series of any lengths, given as logarithms, as one site."""
    if not series:
        return []
    logs = np.full((len(series), max(map(len, series))), np.nan)
    for row, values in zip(logs, series, strict=True):
        row[: values.size] = values
    return judge_nights(logs, np.full(logs.shape, -1), settings)


def _alarm_support(values: np.ndarray, at: int, points: Sequence[int]) -> float:
    low = max([point for point in points if point < at - 2], default=0)
    high = min([point for point in points if point > at + 2], default=values.size)
    before = values[max(low, at - _ROC_NIGHTS) : at]
    after = values[at : min(high, at + _ROC_NIGHTS)]
    return roc_separation(before, after) if min(before.size, after.size) >= 3 else 0.5


def _quiet_stretches(values: np.ndarray, points: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield the values of stretches of `_STRETCH_NIGHTS` nights without a change point."""
    bounds = [0, *points, values.size]
    for low, high in pairwise(bounds):
        for begin in range(low + 3, high - 3 - _STRETCH_NIGHTS + 1, _STRETCH_NIGHTS):
            yield values[begin : begin + _STRETCH_NIGHTS]


def render_picture(
    series: Mapping[str, np.ndarray], detections: Mapping[str, NightsByDetector]
) -> str:
    """Return the SVG of `series`, logarithms in the order of the nights by ``source/series``, with
    the change points of Roundtrip, and the `detections` of others."""
    histories = judge_series(list(series.values()), analysis.default_settings().history)
    others = (name for detectors in detections.values() for name in detectors)
    names = ["Roundtrip", *dict.fromkeys(others)]
    rows = -(-len(series) // _PANEL_COLUMNS)
    high = _HEAD + _HEIGHT + _LANE * len(names) + _GAP
    content = []
    for at, (name, history) in enumerate(zip(series, histories, strict=True)):
        panel = _draw_panel(name, series[name], history, detections.get(name, {}), names)
        x, y = (at % _PANEL_COLUMNS) * (_WIDTH + _NAME_WIDTH), (at // _PANEL_COLUMNS) * high
        place = f"translate({coordinate_text(x)},{coordinate_text(y)})"
        content.append(element("g", {"transform": place}, *panel))
    title = f"{len(series)} real series: what each detector calls a change point"
    about = "Every value of each series, and a lane a detector with a mark where a level begins."
    width = _PANEL_COLUMNS * (_WIDTH + _NAME_WIDTH)
    return painter.svg_document(title, about, (title, about), width, rows * high, content)


def _draw_panel(
    name: str,
    values: np.ndarray,
    history: SeriesHistory,
    detectors: NightsByDetector,
    names: Sequence[str],
) -> Iterator[Markup]:
    low, high = np.quantile(values, (_CLIPPED_SHARE, 1 - _CLIPPED_SHARE))
    margin = max(0.08 * (high - low), 1e-3)
    part = np.clip((values - low + margin) / (high - low + 2 * margin), 0, 1)
    xs, ys = np.arange(values.size) * _WIDTH / values.size, _HEAD + _HEIGHT * (1 - part)
    yield svg.text_element(_shorten_name(name), 0, 14, class_="ink", fill=INK)
    dots = "".join(
        f"M{coordinate_text(x)},{coordinate_text(y)}h0" for x, y in zip(xs, ys, strict=True)
    )
    paint = {"fill": "none", "stroke-width": 2, "stroke-linecap": "round", "d": dots}
    yield colour_group(_POINT_COLOURS, element("path", paint))
    nights_by_detector: dict[str, Sequence[int]] = {
        "Roundtrip": [step.night for step in history.steps],
        **detectors,
    }
    for lane, detector in enumerate(names):
        other_colours = _DETECTOR_COLOURS[(lane - 1) % len(_DETECTOR_COLOURS)]
        colour = other_colours if lane else _ROUNDTRIP_COLOURS
        top = _HEAD + _HEIGHT + _LANE * lane
        places = [xs[night] for night in nights_by_detector.get(detector, ())]
        begin = top + 3 if lane else _HEAD  # Roundtrip's marks also cross the points
        ticks = "".join(svg.path_data(((x, begin), (x, top + _LANE - 1))) for x in places)
        axis = svg.path_data(((0.0, top + _LANE - 1), (_WIDTH, top + _LANE - 1)))
        yield element("path", {"stroke": MUTED, "stroke-opacity": ".35", "d": axis})
        yield colour_group(
            colour, element("path", {"fill": "none", "stroke-width": 1.6, "d": ticks})
        )
        words = f"{detector}: {len(places)}"
        yield svg.text_element(words, _WIDTH + 6, top + _LANE - 1, font_size=11)
    spans = f"spans {np.exp(high - low):.2f} times"
    yield svg.text_element(spans, _WIDTH + 6, _HEAD + 10, font_size=11)


def _shorten_name(name: str) -> str:
    max_width = _WIDTH + _NAME_WIDTH - 20
    while svg.text_width(name) > max_width:
        name = f"…{name[2:]}"
    return name


def render_files(series: Path, others: Path) -> str:
    """Return the SVG of the files SERIES and OTHERS; UserError for a bad one."""
    series_by_name = {
        f"{source}/{name}": values
        for source, source_series in read_series(series).items()
        for name, values in source_series.items()
    }
    try:
        detections = _DETECTIONS_TYPE.validate_json(others.read_bytes(), strict=True)
    except ValidationError as error:
        hint = "right is JSON: by source/series and detector, nights"
        raise UserError(f"{error.errors()[0]['msg']}; {hint}", others) from None
    for name, detectors in detections.items():
        if name not in series_by_name:
            raise UserError(f"{name}: {series.name} has no such series", others)
        last_night = series_by_name[name].size - 1
        for detector, nights in detectors.items():
            if not all(0 <= night <= last_night for night in nights):
                raise UserError(f"{name}, {detector}: right are nights, 0 to {last_night}", others)
    return render_picture(series_by_name, detections)


def main(arguments: Sequence[str]) -> int:
    """Write the picture of SERIES and OTHERS to SVG; return the exit status, 2 for bad input."""
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    series, detections_file, svg_file = map(Path, arguments)
    try:
        svg_file.write_text(render_files(series, detections_file), encoding="utf-8")
    except (OSError, UserError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
