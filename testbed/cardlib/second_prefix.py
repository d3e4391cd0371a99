"""Tests the build cache as on another machine: in a second, empty prefix, the first one hidden."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from steps import Steps, run

if TYPE_CHECKING:
    from pipeline import Card

#: Longer than the first prefix, so that every path in a program must change.
LONGER_PREFIX = "another-machine/with/a-longer/path/to/what-it-was/given"
#: In a mount namespace: hides the folder $1, redirects writes to the checkout $2, such as the view
#: of its environment, to $3, and runs the remaining arguments.
HIDING_SCRIPT = (
    'mount -t tmpfs hidden "$1" && '
    'mount -t overlay checkout -o "lowerdir=$2,upperdir=$3/written,workdir=$3/work" "$2" && '
    'cd "$2" && shift 3 && exec "$@"'
)


def restore(card: Card, steps: Steps, prefix: str) -> None:
    """Run the card again in a new prefix with `prefix` hidden, from the build cache only."""
    with tempfile.TemporaryDirectory(dir=card.options.cache, prefix="second-") as folder:
        for name in (LONGER_PREFIX, "written", "work"):
            (Path(folder) / name).mkdir(parents=True)
        command = [sys.executable, Path(__file__).parent, *card.words()]
        with steps.step("second prefix, the first hidden (steps above)"):
            space = [
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-ec",
                HIDING_SCRIPT,
                "sh",
            ]
            arguments = [
                prefix,
                card.checkout,
                folder,
                *command,
                "--prefix",
                Path(folder) / LONGER_PREFIX,
            ]
            run([*space, *arguments], card.checkout)
