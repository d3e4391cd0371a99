"""Tells, while ReFrame loads a site, that nothing can run on it."""

from __future__ import annotations

import sys


def tell(system: str, why: str) -> None:
    """Print a line on standard error; ConfigError if ReFrame is to run: nothing is no success."""
    said = f"site '{system}' can run no check: {why}"
    if {"-r", "--run"} & set(sys.argv):
        from reframe.core.exceptions import ConfigError  # only ReFrame itself has loaded it

        raise ConfigError(said)
    print(said, file=sys.stderr)
