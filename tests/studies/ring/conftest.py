"""The section of the ring whose truth is known."""

import pytest
from support.measured import study_section
from support.ring import TRANSPORT_COSTS, ring_data

from roundtrip.content.blocks import ReportSection


@pytest.fixture(scope="session")
def section() -> ReportSection:
    return study_section(ring_data(TRANSPORT_COSTS))
