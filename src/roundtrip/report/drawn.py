"""What a figure draws, read off the very chart that is rendered: axes, spreads, lines, bounds.

A chart says where a line is, not what it means; the function that draws a layer tells that of it,
by `spread`, `line` or `bound`, in the layer itself (its `description`, which leaves no trace in
the drawing).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SPREAD, _LINE, _BOUND = "spread: ", "line: ", "bound: "
#: What all spreads of this report are; a caption has to say so.
INTERVALS = "rank intervals"
#: A bound that launches over an emulated link tell.
LINK = "Rate of the link"


@dataclass(frozen=True)
class Drawn:
    """What a figure draws.

    `axes` are the names of its quantitative axes, "" for one without a name.  `spreads` says of
    each layer that draws one what it is, and of how many values.  `lines` says between what each
    line is drawn, "" where nobody told; `over_names` counts lines that join things without order.
    `is_told`: some layer says what it means.  `is_published`: its values are of a publication.
    """

    axes: tuple[str, ...]
    spreads: tuple[tuple[str, int], ...]
    lines: tuple[str, ...]
    over_names: int
    bounds: tuple[str, ...]
    is_told: bool
    is_published: bool = False

    @property
    def shown(self) -> int:
        """Values that are drawn with their spread."""
        return sum(count for _, count in self.spreads)


def spread(layer: Any, what: str = INTERVALS) -> Any:
    """`layer` draws, from one channel to its second (x2, y2), the spread `what` of a value."""
    return layer.properties(description=_SPREAD + what)


def line(layer: Any, between: str) -> Any:
    """`layer` joins values `between` which a reader may interpolate."""
    return layer.properties(description=_LINE + between)


def bound(layer: Any, what: str) -> Any:
    """`layer` draws what no measured value can exceed."""
    return layer.properties(description=_BOUND + what)


def read(spec: dict[str, Any], is_published: bool = False) -> Drawn:
    """Of a Vega-Lite specification with its data."""
    views = list(_views(spec, {}, spec.get("data")))
    datasets = spec.get("datasets", {})
    layers = [layer for view in views for layer in view]
    told = [(str(one.get("description", "")), one) for one in layers]
    spreads = [
        (text.removeprefix(_SPREAD), _ranges(one, datasets))
        for text, one in told
        if text.startswith(_SPREAD)
    ]
    lines = [(text, one) for text, one in told if _mark(one) == "line" and _BOUND not in text]
    return Drawn(
        axes=tuple(name for view in views for name in _axes(view)),
        spreads=tuple(spreads),
        lines=tuple(
            text.removeprefix(_LINE) if text.startswith(_LINE) else "" for text, _ in lines
        ),
        over_names=sum(not _has_order(one["encoding"].get("x", {})) for _, one in lines),
        bounds=tuple(text.removeprefix(_BOUND) for text, _ in told if text.startswith(_BOUND)),
        is_told=any(text.startswith((_SPREAD, _LINE, _BOUND)) for text, _ in told),
        is_published=is_published,
    )


def _views(part: dict[str, Any], encoding: dict[str, Any], data: Any) -> Iterator[list[Any]]:
    """Groups of layers that share their axes; each layer with the data and encoding it inherits."""
    here = {**encoding, **part.get("encoding", {})}
    data = part.get("data", data)
    inner = [one for name in ("concat", "hconcat", "vconcat") for one in part.get(name, [])]
    inner += [part["spec"]] if "spec" in part else []
    if inner:
        for one in inner:
            yield from _views(one, here, data)
    elif "layer" in part:
        yield [one for layer in part["layer"] for view in _views(layer, here, data) for one in view]
    elif "mark" in part:
        yield [{**part, "encoding": here, "data": data}]


def _mark(layer: dict[str, Any]) -> str:
    mark = layer["mark"]
    return str(mark["type"] if isinstance(mark, dict) else mark)


def _has_order(channel: dict[str, Any]) -> bool:
    return channel.get("type") in ("quantitative", "temporal", "ordinal")


def _axes(layers: list[Any]) -> Iterator[str]:
    """The name of the horizontal and of the vertical axis, if a quantity is along it."""
    for name in ("x", "y"):
        channels = [one["encoding"][name] for one in layers if name in one["encoding"]]
        shown = [one for one in channels if _is_axis(one)]
        if not shown:
            continue
        titles = [one["axis"].get("title") for one in shown if one.get("axis")]
        if any((one.get("axis") or {}).get("labels") is False for one in shown):
            continue  # its neighbour, with the same scale, has the labels
        yield next((str(title) for title in titles if title), "")


def _is_axis(channel: dict[str, Any]) -> bool:
    is_quantity = channel.get("type") == "quantitative" and "value" not in channel
    return (
        is_quantity and channel.get("scale", {}) is not None and channel.get("axis", {}) is not None
    )


def _ranges(layer: dict[str, Any], datasets: dict[str, Any]) -> int:
    """Rows of its data that have both ends of the range that it draws."""
    encoding, data = layer["encoding"], layer.get("data") or {}
    for first, second in (("x", "x2"), ("y", "y2")):
        if first in encoding and second in encoding:
            ends = [str(encoding[one].get("field")) for one in (first, second)]
            rows = data.get("values") or datasets.get(str(data.get("name"))) or []
            return sum(all(row.get(end) is not None for end in ends) for row in rows)
    return 0
