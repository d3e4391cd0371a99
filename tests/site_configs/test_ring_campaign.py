"""The ring campaign on sites that lack something."""

from __future__ import annotations

from pathlib import Path

from roundtrip.campaign import model
from roundtrip.campaign.model import CheckPlan

CHECKOUT = Path(__file__).parents[2]


def test_a_site_without_pvm_loses_no_more_than_pvm() -> None:
    plans = model.load(CHECKOUT / "campaigns" / "ring.toml").checks
    with_pvm = [plan for plan in plans if "pvm" in plan.parameters["transport"]]
    assert {plan.name for plan in with_pvm} == {"Ring", "RingNetwork"}
    for plan in with_pvm:
        assert any(stands_in(other, plan) for other in plans), f"line {plan.line}"


def stands_in(other: CheckPlan, plan: CheckPlan) -> bool:
    """Whether `other` runs without PVM where `plan` runs with it, in the same way."""
    covers = all(
        name == "transport" or set(plan.parameters.get(name, ())) <= set(values)
        for name, values in other.parameters.items()
    )
    alone = other.parameters["transport"] == ("mpi",)
    return alone and covers and (other.name, other.variables) == (plan.name, plan.variables)
