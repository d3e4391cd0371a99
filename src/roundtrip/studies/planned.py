"""What a study plans to claim: its primary claims, and what tells toolchains apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: What a value depends on beside the machine: of what does not depend on Boost, two toolchains
#: that differ in nothing else are not compared.
MPI, BOOST = "mpi", "boost"


@dataclass(frozen=True)
class PlannedCase:
    """A case that a campaign will launch; `variables` are those that the campaign sets."""

    id: str
    study: str
    check: str
    place: str  # system and partition
    environ: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def number(self, variable: str, default: float) -> float:
        """A variable as a number; `default` if it is not set, or is none."""
        try:
            return float(self.variables.get(variable, default))
        except ValueError:
            return default


@dataclass(frozen=True)
class PlannedClaims:
    """`count` primary claims of one case: `what` is compared."""

    case: str
    what: str
    count: int
