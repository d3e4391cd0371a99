"""The round of a session, and what is no number of a round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roundtrip.collect import records


def test_the_round_that_was_written_is_read(tmp_path: Path) -> None:
    assert records.read_round(tmp_path) is None
    records.write_round(tmp_path, 7)
    assert records.read_round(tmp_path) == 7


@pytest.mark.parametrize("number", [0, -1, 1 << 40, True, 1.0, "1", [1], None])
def test_what_is_no_number_of_a_round_is_none(tmp_path: Path, number: Any) -> None:
    records.write_round(tmp_path, 1)
    (file,) = tmp_path.iterdir()
    for data in ({"round": number}, number):
        file.write_text(json.dumps(data))
        assert records.read_round(tmp_path) is None
