"""The look of figures, and their rendering to SVG: the same bytes each time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

import altair as alt
import vl_convert

from roundtrip.report import drawn
from roundtrip.report.blocks import Figure

WIDTH = 300
_VEGA_LITE = "6.4"
_FONTS_VARIABLE = "FONTCONFIG_FILE"
_FONT = (
    "Inter, Segoe UI, Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans Condensed, "
    "sans-serif"
)
#: Coordinates, which have more digits than are needed; never the text of a label.
_COORDINATES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_CLIP_ID = re.compile(r' id="(clip\d+)"')
_CLIP = re.compile(r'( id="|url\(#)(clip\d+)')
_NUMBER = re.compile(r"-?\d+\.\d{2,}")


@dataclass(frozen=True)
class Theme:
    """Colours of a page.  A study has the colours of its own curves, in pairs: light and dark."""

    surface: str
    ink: str
    muted: str
    grid: str
    margin: str


LIGHT = Theme(
    surface="#ffffff",
    ink="#1c2430",
    muted="#5b6675",
    grid="#e6e9ee",
    margin="#dfe7df",
)
DARK = Theme(
    surface="#161b22",
    ink="#e6eaf0",
    muted="#98a3b3",
    grid="#2a313c",
    margin="#26332a",
)


def shade(colour: tuple[str, str], theme: Theme) -> str:
    """The colour of a pair, light and dark, that fits the page."""
    return colour[theme is DARK]


def render(
    name: str, alt_text: str, draw: Callable[[Theme], Any], is_published: bool = False
) -> Figure:
    """The figure that `draw` makes of a theme, drawn in both themes.

    `is_published`: all its values are of a publication, none was measured here.
    """
    light = draw(LIGHT)
    shown = drawn.read(light.to_dict(format="vega-lite"), is_published)
    return Figure(name, alt_text, _svg(light, LIGHT), _svg(draw(DARK), DARK), shown)


def size_axis(theme: Theme, is_titled: bool = True) -> Any:
    """Message size on a binary log scale: 1, 32, 1Ki, 32Ki, 1Mi."""
    label = (
        "datum.value < 1024 ? format(datum.value, 'd') : datum.value < 1048576 "
        "? format(datum.value / 1024, 'd') + 'Ki' : format(datum.value / 1048576, 'd') + 'Mi'"
    )
    return alt.Axis(
        title="Message size (bytes)" if is_titled else None,
        grid=True,
        values=[1, 32, 1 << 10, 32 << 10, 1 << 20, 32 << 20],
        labelExpr=label,
        labels=is_titled,
        ticks=is_titled,
        gridColor=theme.grid,
    )


def named_axis(title: str, **settings: Any) -> Any:
    """A vertical axis with its name above it."""
    return alt.Axis(
        title=title,
        titleX=-38,
        titleY=-22,
        titleAngle=0,
        titleAlign="left",
        titleAnchor="start",
        titleBaseline="top",
        **settings,
    )


def _svg(chart: Any, theme: Theme) -> str:
    text = {"labelColor": theme.muted, "titleColor": theme.ink}
    styled = chart.configure(
        background=theme.surface,
        font=_FONT,
        # The reader's font may be wider than the one that the text was measured with.
        padding={"left": 4, "top": 4, "right": 28, "bottom": 4},
    )
    styled = styled.configure_view(stroke=None).configure_axis(
        **text,
        labelFontSize=13,
        titleFontSize=13,
        titleFontWeight="normal",
        titlePadding=8,
        domainColor=theme.muted,
        tickColor=theme.muted,
        tickSize=4,
        gridColor=theme.grid,
    )
    styled = styled.configure_title(
        color=theme.ink,
        subtitleColor=theme.muted,
        fontSize=15,
        subtitleFontSize=13,
        fontWeight=600,
        anchor="start",
        frame="group",
        limit=WIDTH + 120,
        offset=22,
    )
    with _own_fonts():
        svg: str = vl_convert.vegalite_to_svg(
            styled.to_dict(format="vega-lite"), vl_version=_VEGA_LITE
        )
    shorter = _COORDINATES.sub(lambda found: _NUMBER.sub(_shorter, found[0]), svg)
    return _renumbered(shorter)


@contextmanager
def _own_fonts() -> Iterator[None]:
    """The renderer measures text with the fonts that it brings (Liberation), whatever is installed.

    Only for as long as it draws: other programs shall see this machine's fonts.
    """
    before = os.environ.get(_FONTS_VARIABLE)
    with resources.as_file(resources.files("roundtrip.report") / "fonts.conf") as conf:
        os.environ[_FONTS_VARIABLE] = str(conf)
        try:
            yield
        finally:
            del os.environ[_FONTS_VARIABLE]
            if before is not None:
                os.environ[_FONTS_VARIABLE] = before


def _renumbered(svg: str) -> str:
    """The same drawing with clip1, clip2, ...: the renderer counts on from one to the next."""
    names = dict.fromkeys(found[1] for found in _CLIP_ID.finditer(svg))
    numbers = {name: f"clip{number}" for number, name in enumerate(names, 1)}
    return _CLIP.sub(lambda found: found[1] + numbers[found[2]], svg)


def _shorter(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}"


def spread_apart(wanted: dict[str, float], gap: float, low: float, high: float) -> dict[str, float]:
    """Positions near those wanted, at least `gap` apart, within [low, high] where they fit."""
    placed: list[tuple[str, float]] = []
    for name, position in sorted(wanted.items(), key=lambda item: (item[1], item[0])):
        floor = placed[-1][1] + gap if placed else low
        placed.append((name, max(position, floor)))
    ceiling = high
    result: dict[str, float] = {}
    for name, position in reversed(placed):
        result[name] = min(position, ceiling)
        ceiling = result[name] - gap
    return result
