"""``python -m tools.bench [FIGURE...]``: print the named figures; by default those that measure
this machine in minutes.

``aa`` takes half an hour; ``aa=TREE`` reads the tree of an earlier A/A run.  ``sequential``
simulates, for some minutes, and gives the same numbers everywhere.
"""

from __future__ import annotations

import sys

from roundtrip.errors import UserError
from tools.bench import aa, curve, history, overhead, reference, reporting, sequential, starting

USUAL = {
    "reference": reference,
    "curve": curve,
    "overhead": overhead,
    "reporting": reporting,
    "starting": starting,
    "history": history,
}
FIGURES = {**USUAL, "aa": aa, "sequential": sequential}


def main(names: list[str]) -> int:
    """Print the figures called `names`; the exit status, 2 for an unknown or unmeasured figure."""
    asked = [name.partition("=") for name in names or USUAL]
    if unknown := [
        f"{name}{of}" for name, of, _ in asked if name not in FIGURES or (of and name != "aa")
    ]:
        print(f"no figure '{unknown[0]}'; there are: {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    for name, _, tree in asked:
        print(f"{name}: {FIGURES[name].__doc__}", flush=True)
        try:
            for line in aa.measure(tree) if tree else FIGURES[name].measure():
                print(f"  {line}", flush=True)
        except UserError as error:
            print(f"  not measured: {error}", file=sys.stderr)
            return 2
    return 0


sys.exit(main(sys.argv[1:]))
