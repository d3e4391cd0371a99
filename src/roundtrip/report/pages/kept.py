"""What the history page of a campaign on a site was last made from, so that it is not made twice.

It is a file beside the page, derived like it, and made anew when in doubt.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from roundtrip.stats.nights.verdicts import Verdict

FILE_NAME = ".pages.json"
#: What else decides about the bytes of a page.
_LIBRARIES = ("jinja2", "numpy", "polars", "scipy")


@dataclass(frozen=True)
class Summary:
    """Of a campaign on a site: how many series have each verdict, the level of all nights, marks.

    `levels` are those of `shelf.overall`; `nights` counts imported ones too; `has_page`: whether
    there is a history.
    """

    counts: Sequence[tuple[Verdict, int]]
    levels: Sequence[float | None]
    mark: str
    nights: int
    has_page: bool


@functools.cache
def code() -> str:
    """What changes with any file of the package: then the same reports may give other pages."""
    told = hashlib.sha256()
    for name, content in _files(resources.files("roundtrip"), ""):
        told.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    versions = [metadata.version(name) for name in _LIBRARIES]
    return " ".join([told.hexdigest(), *versions])


def load(site: Path, made_from: str, page: Path) -> Summary | None:
    """The summary of a page that was made from the same; None if it was not, or was changed."""
    try:
        told = json.loads((site / FILE_NAME).read_text(encoding="utf-8"))
        if told["made_from"] != made_from or told["page"] not in ("", _digest(page)):
            return None
        counts = [(Verdict(name), int(count)) for name, count in told["counts"]]
        levels = [None if one is None else float(one) for one in told["levels"]]
        return Summary(counts, levels, str(told["mark"]), int(told["nights"]), told["page"] != "")
    except (OSError, ValueError, LookupError, TypeError):
        return None


def text(made_from: str, page: Path, summary: Summary) -> str:
    """The text of the file that `load` reads, of `page` as it lies there."""
    told: dict[str, Any] = {
        "made_from": made_from,
        "page": _digest(page) if summary.has_page else "",
        "counts": list(summary.counts),
        "levels": list(summary.levels),
        "mark": summary.mark,
        "nights": summary.nights,
    }
    return json.dumps(told)


def _digest(page: Path) -> str:
    """Its sha256; "" without a page."""
    with contextlib.suppress(FileNotFoundError):
        return hashlib.sha256(page.read_bytes()).hexdigest()
    return ""


def _files(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                found += _files(entry, f"{prefix}{entry.name}/")
        else:
            found.append((f"{prefix}{entry.name}", entry.read_bytes()))
    return found
