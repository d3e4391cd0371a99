"""Every command, registered on `app` by being imported."""

from __future__ import annotations

from roundtrip.cli import (
    ab,
    app,
    calibrate,
    collect,
    compare,
    doctor,
    history,
    imported,
    nodes,
    publish,
    report,
    run,
    site,
    study,
    toolchains,
)

__all__ = [
    "ab",
    "app",
    "calibrate",
    "collect",
    "compare",
    "doctor",
    "history",
    "imported",
    "nodes",
    "publish",
    "report",
    "run",
    "site",
    "study",
    "toolchains",
]
