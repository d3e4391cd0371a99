"""Why no claim is made of two cases, and what would allow one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from roundtrip.compare.side import Side, Unit

_DRIFTS = "a machine drifts by more than most builds differ"


def why(base: Side, new: Side, one: Unit, other: Unit) -> str:
    """One sentence: why two cases, of two runs or simulated, are not claimed to differ."""
    if one.simulated:
        return "simulated, which gives the same values each time: nothing is tested"
    if one.site != other.site:
        return f"measured on different sites, {one.site} and {other.site}: machines differ too"
    if base.night[:10] != new.night[:10]:
        return f"measured on different nights: {_DRIFTS}"
    return f"measured in different runs: {_DRIFTS}"


def command(pairs: Sequence[tuple[Unit, Unit]]) -> str:
    """What measures both sides interleaved, as far as one command can; in words where none can."""
    if pairs and all(unit.simulated for pair in pairs for unit in pair):
        return "simulated values have no noise: what differs, differs"
    sites = {unit.site for pair in pairs for unit in pair}
    if len(sites) > 1:
        return "two sites are never interleaved: compare each with its own past"
    names = {(one.toolchain, other.toolchain) for one, other in pairs}
    if len(names) == 1 and (name := next(iter(names)))[0] != name[1]:
        checks = dict.fromkeys(_check(one) for one, _ in pairs)
        asked = [word for check in checks for word in ("--checks", check)]
        line = shlex.join(["roundtrip", "ab", *name, *asked, "--site", *sites])
        return f"to measure both interleaved: {line}"
    if len(names) > 1 and any(one != other for one, other in names):
        return "to measure two interleaved: roundtrip ab TOOLCHAIN TOOLCHAIN"
    return (
        "one toolchain on two nights cannot be interleaved: keep the old build under a name of its "
        "own and measure both by `roundtrip ab OLD NEW`"
    )


def _check(unit: Unit) -> str:
    parameters = [item.replace(" ", "=", 1) for item in unit.parameters.split(", ") if item]
    return f"{unit.check}:{','.join(parameters)}" if parameters else unit.check
