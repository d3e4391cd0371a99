"""What a study plans to claim: its primary claims, and what distinguishes toolchains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: What a value depends on besides the machine.  Two toolchains that differ only in Boost are not
#: compared by a value that does not depend on Boost.
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
        """A variable as a number; `default` if it is not set, or is not a number."""
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
