"""The section of the ring whose truth is known."""

from __future__ import annotations

import pytest
from support.measured import part
from support.ring import TRUTH, ring_data

from roundtrip.report.blocks import ReportSection


@pytest.fixture(scope="session")
def section() -> ReportSection:
    return part(ring_data(TRUTH))
