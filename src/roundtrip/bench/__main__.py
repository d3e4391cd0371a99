"""``python -m roundtrip.bench [FIGURE...]``: print the figures, all by default."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from roundtrip.bench import curve, overhead, reference, reporting, starting
from roundtrip.errors import UserError

FIGURES: dict[str, Callable[[], Iterator[str]]] = {
    "reference": reference.measure,
    "curve": curve.measure,
    "overhead": overhead.measure,
    "reporting": reporting.measure,
    "starting": starting.measure,
}


def main(names: list[str]) -> int:
    """Print the figures called `names`; exit status 2 for one that does not exist."""
    if unknown := [name for name in names if name not in FIGURES]:
        print(f"no figure '{unknown[0]}'; there are: {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    for name in names or FIGURES:
        print(f"{name}: {sys.modules[FIGURES[name].__module__].__doc__}", flush=True)
        try:
            for line in FIGURES[name]():
                print(f"  {line}", flush=True)
        except UserError as error:
            print(f"  not measured: {error}", file=sys.stderr)
            return 2
    return 0


sys.exit(main(sys.argv[1:]))
