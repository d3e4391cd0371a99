"""``python -m mutants draw|trace|run|table``: see tests/README.md."""

from __future__ import annotations

import sys

from mutants import draw, scratch

SEED = 20261123


def main() -> int:
    command, *rest = sys.argv[1:]
    match command:
        case "draw":
            known = draw.read() if draw.LIST.exists() else []
            draw.write(draw.drawn(known, 95, 25, SEED))
        case "trace":
            scratch.prepare()
            return scratch.trace(*rest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
