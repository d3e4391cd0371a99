"""The tables of the nights before a run, in its bundle, and the section that is made of them."""

from __future__ import annotations

import tempfile
from datetime import datetime
from functools import cache
from pathlib import Path

from support.nights import CAMPAIGN, SITE, Nights, started

from roundtrip.history import ledger
from roundtrip.history.annotations import Annotation
from roundtrip.measure import manifest
from roundtrip.report import renderers
from roundtrip.report.blocks import Report
from roundtrip.report.data import Data
from roundtrip.report.sections import history

#: The tables that a bundle holds of them.
TABLES = tuple(
    f"{manifest.HISTORY}{name}.parquet" for name in ("nights", "provenance", "notes", "accepted")
)
_NIGHTS = 14


@cache
def bundle() -> Path:
    """A night with others before it, on which the kernel changed and somebody said so."""
    folder = Path(tempfile.mkdtemp(prefix="roundtrip-fuzz-")) / "reports"
    writer = Nights(
        folder,
        series=3,
        launches=2,
        samples=2,
        change=lambda night, _: 1.2 if night >= _NIGHTS // 2 else 1.0,
        kernel=lambda night: "6.1" if night >= _NIGHTS // 2 else "6.0",
    )
    newest_bundle = writer.write(_NIGHTS)[-1] / "bundle"
    annotations = [
        Annotation.model_validate({"from": datetime.fromisoformat(started(night)), **fields})
        for night, fields in (
            (_NIGHTS // 2, {"text": "a new kernel"}),
            (0, {"text": "as bought", "kind": "accepted"}),
        )
    ]
    night_ledger = ledger.read_ledger(folder, CAMPAIGN, SITE, annotations)
    ledger.attach(newest_bundle, manifest.verify(newest_bundle), night_ledger, annotations)
    return newest_bundle


def shown(data: Data) -> None:
    """Draws what the nights show: whatever the readers took must have its place on the page."""
    part = history.part(data)
    renderers.html(Report("", (), (), (part,), series=data.nights.keys))
