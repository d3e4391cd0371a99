"""What host.json says of processors, and what it may not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roundtrip.collect import disturbance


@pytest.mark.parametrize(
    ("data", "cores"),
    [
        ({"cpu": {"logical": 1}}, 1),
        ({"cpu": {"logical": 0}}, None),
        ({"cpu": {"logical": -4}}, None),
        ({"cpu": {"logical": "4"}}, None),
        ({"cpu": 4}, None),
        ([], None),
    ],
)
def test_a_host_has_as_many_processors_as_it_can_have(
    tmp_path: Path, data: Any, cores: int | None
) -> None:
    file = tmp_path / "host.json"
    assert disturbance.processors(file) is None
    file.write_text(json.dumps(data))
    assert disturbance.processors(file) == cores
