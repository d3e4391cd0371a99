"""A comparison as JSON, for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from roundtrip.compare import words
from roundtrip.compare.model import Comparison, Row
from roundtrip.compare.side import Side, Unit
from roundtrip.stats.summaries import Interval


def render(comparison: Comparison, everything: bool = False) -> str:
    """All of it as one object; `everything`: facts that do not differ too."""
    told = {
        "schema": 1,
        "summary": words.summary(comparison),
        "exit_status": comparison.exit_status,
        "base": _side(comparison.base),
        "new": _side(comparison.new),
        "levels": dict(comparison.levels),
        "sequential": comparison.is_sequential,
        "provenance": [asdict(fact) for fact in words.shown(comparison, everything)],
        "series": [_row(row) for row in comparison.rows],
        "removed": [_unit(unit) for unit in comparison.removed],
        "added": [_unit(unit) for unit in comparison.added],
        "refused": list(comparison.refused),
        "notes": list(words.notes(comparison)),
    }
    return json.dumps(told, indent=1) + "\n"


def _side(side: Side) -> dict[str, Any]:
    facts = side.data.manifest
    known = {key: facts.data[key] for key in ("campaign", "site", "started")}
    return {"name": side.name, **known, "digest": facts.digest, "chosen": dict(side.chosen)}


def _row(row: Row) -> dict[str, Any]:
    point, judged = row.series.point, row.judged
    return {
        "what": point.what,
        "size_bytes": point.size_bytes,
        "unit": point.unit,
        "base": {**_unit(row.series.base), **_interval(row.base)},
        "new": {**_unit(row.series.new), **_interval(row.new)},
        "status": str(row.status),
        "ratio": {**_interval(judged.interval), "p": judged.p, "q": judged.q}
        if judged
        else {"median": row.ratio},
        "why": row.why,
        "more_rounds": None if row.more is None else row.each * row.more,
    }


def _unit(unit: Unit) -> dict[str, str]:
    names = ("study", "check", "parameters", "kind", "site", "partition", "toolchain")
    return {name: getattr(unit, name) for name in names}


def _interval(interval: Interval) -> dict[str, float | int | None]:
    return {name: getattr(interval, name) for name in ("median", "low", "high", "n")}
