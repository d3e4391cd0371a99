"""``python -m tools.calibration.picture SERIES OTHERS SVG``: real series as one picture,
with the change points that Roundtrip and other detectors have in each.

SERIES is a file of real series as ``real.py`` reads it; all of them are judged as one site.  OTHERS
is JSON: by ``source/series`` and detector, the nights at which its change points begin.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError

from roundtrip.collect import analysis
from roundtrip.errors import UserError
from roundtrip.report import painter, svg
from roundtrip.report.drawing import INK, MUTED, coloured
from roundtrip.report.svg import element, number
from roundtrip.stats.nights.verdicts import SeriesHistory
from tools.calibration import real

#: Pixels: the drawing area of a series, the lane of a detector, and what is around them.
_WIDTH, _HEIGHT, _LANE, _HEAD, _GAP = 430.0, 84.0, 13.0, 22.0, 26.0
_COLUMNS, _NAMES = 2, 120.0
#: Of the points, of Roundtrip, and of the other detectors, on a light and on a dark page.
_POINTS, _OURS = ("#5b6675", "#a9b4c2"), ("#0b4f94", "#7db8f0")
_OTHERS = (("#a4500f", "#f0a060"), ("#1d6b43", "#6fcf97"), ("#7a3b8f", "#d29be0"))
_SHARE = 0.01  # so many of the nights are beyond the drawing area at most, on either side

Detectors = Mapping[str, Sequence[int]]
_OTHERS_FILE = TypeAdapter(dict[str, dict[str, list[int]]])


def picture(series: Mapping[str, np.ndarray], others: Mapping[str, Detectors]) -> str:
    """The SVG: `series` are logarithms by ``source/series``, in the order of their nights."""
    judged = real.judged(list(series.values()), analysis.default().history)
    names = ["Roundtrip", *dict.fromkeys(name for one in others.values() for name in one)]
    rows = -(-len(series) // _COLUMNS)
    high = _HEAD + _HEIGHT + _LANE * len(names) + _GAP
    content = (
        _placed(_panel(name, values, known, others.get(name, {}), names), at, high)
        for at, (name, values, known) in enumerate(
            zip(series, series.values(), judged, strict=True)
        )
    )
    title = f"{len(series)} real series: what each detector calls a change point"
    about = "Every value of each series, and a lane a detector with a mark where a level begins."
    width = _COLUMNS * (_WIDTH + _NAMES)
    return painter.document(title, about, (title, about), width, rows * high, content)


def _placed(inside: Iterator[Markup], at: int, high: float) -> Markup:
    x, y = (at % _COLUMNS) * (_WIDTH + _NAMES), (at // _COLUMNS) * high
    return element("g", {"transform": f"translate({number(x)},{number(y)})"}, *inside)


def _panel(
    name: str, values: np.ndarray, known: SeriesHistory, others: Detectors, names: Sequence[str]
) -> Iterator[Markup]:
    low, high = np.quantile(values, (_SHARE, 1 - _SHARE))
    margin = max(0.08 * (high - low), 1e-3)
    part = np.clip((values - low + margin) / (high - low + 2 * margin), 0, 1)
    xs, ys = np.arange(values.size) * _WIDTH / values.size, _HEAD + _HEIGHT * (1 - part)
    yield svg.text(_short(name), 0, 14, class_="ink", fill=INK)
    dots = "".join(f"M{number(x)},{number(y)}h0" for x, y in zip(xs, ys, strict=True))
    paint = {"fill": "none", "stroke-width": 2, "stroke-linecap": "round", "d": dots}
    yield coloured(_POINTS, element("path", paint))
    found: dict[str, Sequence[int]] = {"Roundtrip": [step.night for step in known.steps], **others}
    for lane, detector in enumerate(names):
        colour = _OURS if not lane else _OTHERS[(lane - 1) % len(_OTHERS)]
        top = _HEAD + _HEIGHT + _LANE * lane
        places = [xs[night] for night in found.get(detector, ())]
        begin = top + 3 if lane else _HEAD  # our own through the points, too
        ticks = "".join(svg.path(((x, begin), (x, top + _LANE - 1))) for x in places)
        axis = svg.path(((0.0, top + _LANE - 1), (_WIDTH, top + _LANE - 1)))
        yield element("path", {"stroke": MUTED, "stroke-opacity": ".35", "d": axis})
        yield coloured(colour, element("path", {"fill": "none", "stroke-width": 1.6, "d": ticks}))
        words = f"{detector}: {len(places)}"
        yield svg.text(words, _WIDTH + 6, top + _LANE - 1, font_size=11)
    spans = f"spans {np.exp(high - low):.2f} times"
    yield svg.text(spans, _WIDTH + 6, _HEAD + 10, font_size=11)


def _short(name: str) -> str:
    room = _WIDTH + _NAMES - 20
    while svg.width(name) > room:
        name = f"…{name[2:]}"
    return name


def read(series: Path, others: Path) -> str:
    """The picture of two files; UserError for bad ones."""
    every = {
        f"{source}/{name}": values
        for source, named in real.load(series).items()
        for name, values in named.items()
    }
    try:
        known = _OTHERS_FILE.validate_json(others.read_bytes(), strict=True)
    except ValidationError as error:
        right = "right is JSON: by source/series and detector, nights"
        raise UserError(f"{error.errors()[0]['msg']}; {right}", others) from None
    for name, detectors in known.items():
        if name not in every:
            raise UserError(f"{name}: {series.name} has no such series", others)
        last = every[name].size - 1
        for detector, nights in detectors.items():
            if not all(0 <= night <= last for night in nights):
                raise UserError(f"{name}, {detector}: right are nights, 0 to {last}", others)
    return picture(every, known)


def main(arguments: Sequence[str]) -> int:
    """Write the picture; the exit status."""
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    series, others, svg_file = map(Path, arguments)
    try:
        svg_file.write_text(read(series, others), encoding="utf-8")
    except (OSError, UserError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
