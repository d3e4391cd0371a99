"""``python -m tools.bench [FIGURE...]``: print these figures, by default those that take minutes.

``aa`` takes half an hour; ``aa=TREE`` reads the tree of an earlier A/A run.  ``sequential``
and ``blame`` simulate, for some minutes, and give the same numbers everywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from roundtrip.errors import UserError
from tools.bench import aa, blame, costs, netpipe, sequential

DEFAULT_FIGURES: dict[str, Callable[[], Iterator[str]]] = {
    "reference": netpipe.reference,
    "curve": netpipe.curve,
    "overhead": costs.overhead,
    "reporting": costs.reporting,
    "starting": costs.starting,
    "history": costs.history,
}
FIGURES = {
    **DEFAULT_FIGURES,
    "aa": aa.false_claims,
    "sequential": sequential.verdict_errors,
    "blame": blame.search_errors,
}


def main(names: list[str]) -> int:
    """Print figures, by default `DEFAULT_FIGURES`; return 2 if one is unknown or not measured."""
    figures = [name.partition("=") for name in names or DEFAULT_FIGURES]
    for name, equals, _ in figures:
        if name not in FIGURES or (equals and name != "aa"):
            choices = ", ".join(FIGURES)
            print(f"no figure '{name}{equals}'; there are: {choices}", file=sys.stderr)
            return 2
    for name, _, tree in figures:
        title = (FIGURES[name].__doc__ or "").partition("\n")[0]
        print(f"{name}: {title}", flush=True)
        try:
            for line in aa.false_claims(tree) if tree else FIGURES[name]():
                print(f"  {line}", flush=True)
        except UserError as error:
            print(f"  not measured: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
