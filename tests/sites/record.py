"""Records what the Slurm at hand says to `site new`: ``record.py FILE`` (data/README.md)."""

import json
import sys
from pathlib import Path

from roundtrip.sites import probe
from roundtrip.sites.schedulers.interface import command_output

#: Of the machine, not of Slurm.
_SLURM = ("sinfo", "srun", "scontrol", "sacctmgr")


def main(file: Path) -> None:
    """Write a JSON object to `file`: what each command printed, null if it failed."""
    answers: dict[str, str | None] = {}

    def ask(*command: str) -> str | None:
        if command[0] not in _SLURM:
            return None
        answers[" ".join(command)] = command_output(*command)
        return answers[" ".join(command)]

    probe.collect_machine_facts(ask, Path("/nonexistent"))
    file.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
