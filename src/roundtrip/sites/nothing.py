"""What becomes of a site on which nothing can run, while ReFrame loads it."""

from __future__ import annotations

import sys


def tell(system: str, why: str) -> None:
    """A line on standard error; ConfigError if ReFrame was told to run: nothing is no success."""
    said = f"site '{system}' can run no check: {why}"
    if {"-r", "--run"} & set(sys.argv):
        from reframe.core.exceptions import ConfigError  # only ReFrame itself has loaded it

        raise ConfigError(said)
    print(said, file=sys.stderr)
