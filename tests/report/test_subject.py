"""What the audit holds its rules against."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.audited import SOUND, launches, of_launches


@pytest.mark.parametrize(
    ("simulated", "is_simulated"), [(True, True), (False, False), (None, False)]
)
def test_a_section_is_simulated_if_its_launches_are(
    simulated: bool | None, is_simulated: bool
) -> None:
    assert of_launches(simulated=simulated).is_simulated is is_simulated


def test_of_some_simulated_launches_or_none_no_section_is_simulated() -> None:
    mixed_launches = launches().with_columns(simulated=launches()["case_id"] == "one")
    assert not replace(SOUND, launches=mixed_launches).is_simulated
    assert not replace(SOUND, launches=launches(simulated=True).head(0)).is_simulated
