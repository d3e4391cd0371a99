"""The ring campaign on sites that lack something."""

from __future__ import annotations

from pathlib import Path

from roundtrip.measure import campaign_file

CHECKOUT = Path(__file__).parents[2]


def test_a_site_without_pvm_loses_no_more_than_pvm() -> None:
    plans = campaign_file.load_campaign(CHECKOUT / "campaigns" / "ring.toml").checks
    assert {plan.name for plan in plans} == {"Ring", "RingNetwork"}
    assert {plan.parameters["transport"] for plan in plans} == {("all",)}
    check = (CHECKOUT / "checks" / "ring" / "ring.py").read_text()
    assert "+pvm" not in check
