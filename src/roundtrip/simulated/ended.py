"""How a simulation ended: SimGrid's status is 0 after a deadlock and after MPI_Abort."""

from __future__ import annotations

import re

_WRONG = re.compile(r"^.*(?:deadlock|CRITICAL|MPI_Abort).*$", re.MULTILINE | re.IGNORECASE)


def fault(said: str) -> str:
    """The line of `said`, its standard error, by which a simulation went wrong; "" for none."""
    wrong = _WRONG.search(said)
    return wrong[0].strip() if wrong else ""
