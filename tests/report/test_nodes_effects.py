"""How the level of a measure of nodes is printed."""

from __future__ import annotations

import pytest

from roundtrip.history.nodes import MeasureName
from roundtrip.report.sections import nodes


@pytest.mark.parametrize(
    ("level", "unit", "text"),
    [
        (1.5e-6, "s", "1.50\N{NO-BREAK SPACE}µs"),
        (900.0, "MB/s", "900\N{NO-BREAK SPACE}MB/s"),
        (1.25, "1", "mean over median 1.25"),
    ],
)
def test_a_level_has_its_unit_or_says_what_it_is(level: float, unit: str, text: str) -> None:
    name = MeasureName("netpipe", "smp", "openmpi", "latency", False, level, unit)
    assert nodes._level(name) == text
