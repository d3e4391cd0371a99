"""Published nights as a fixture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.published_nights import Nights


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """The folder of published reports."""
    return tmp_path / "reports"


@pytest.fixture
def night(make_tree: Callable[..., Any], reports: Path) -> Nights:
    """A function that publishes one more night as far as its pages are concerned."""
    return Nights(make_tree, reports)
