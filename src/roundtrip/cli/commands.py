"""Every command, registered on `app` by being imported."""

from __future__ import annotations

from roundtrip.cli import (
    app,
    collect,
    compare,
    doctor,
    history,
    imported,
    publish,
    report,
    run,
    site,
    study,
    toolchains,
)

__all__ = [
    "app",
    "collect",
    "compare",
    "doctor",
    "history",
    "imported",
    "publish",
    "report",
    "run",
    "site",
    "study",
    "toolchains",
]
