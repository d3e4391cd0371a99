"""Points whose ranks share processors are never on a line with points whose ranks do not."""

from __future__ import annotations

from roundtrip.studies.npb.scaling import as_lines
from roundtrip.studies.study import BLUE


def test_a_line_is_dashed_where_ranks_share_processors() -> None:
    rows = [
        {"name": "Ours", "colour": BLUE, "shared": False, "x": 1},
        {"name": "Ours", "colour": BLUE, "shared": True, "x": 4},
        {"name": "NPB 3.4", "colour": BLUE, "shared": True, "x": 4},
    ]
    told, arms = as_lines(rows)
    assert [(row["arm"], row["x"]) for row in told] == [
        ("Ours", 1),
        ("Ours, fewer processors", 4),
        ("NPB 3.4", 4),
    ]
    assert {name: arm.is_dashed for name, arm in arms.items()} == {
        "NPB 3.4": True,
        "Ours": False,
        "Ours, fewer processors": True,
    }
