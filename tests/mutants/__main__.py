"""``python -m mutants draw | trace | run | table``; tests/README.md says how."""

import argparse
import sys

from mutants import draw, run

SEED = 20261123


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("draw", help="substitutes for mutants that are void or whose line is gone")
    commands.add_parser("trace", help="run tests once: which lines each of them reaches")
    run_parser = commands.add_parser("run", help="which tests kill each mutant")
    run_parser.add_argument("--only", default="", help="mutants whose name starts so")
    run_parser.add_argument(
        "--budget", type=float, default=60, help="seconds of tests for a mutant"
    )
    commands.add_parser("table", help="what the last run of each mutant gave, by folder")
    options, pytest_options = parser.parse_known_args()  # what else is said goes to pytest
    all_mutants = draw.read() if draw.LIST.exists() else []
    match options.command:
        case "draw":
            draw.write(draw.drawn(all_mutants, 95, 25, SEED))
        case "trace":
            return run.trace([mutant for mutant in all_mutants if not mutant.void], pytest_options)
        case "run":
            mutants = [m for m in all_mutants if m.name.startswith(options.only) and not m.void]
            run.run(mutants, options.budget, pytest_options)
        case "table":
            print(run.table(all_mutants))
    return 0


if __name__ == "__main__":
    sys.exit(main())
