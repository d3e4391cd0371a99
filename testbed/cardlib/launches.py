"""The launches of the card: checks by hand, then a night of its campaign."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

#: One check of each of our programs.
CHEAPEST_CHECKS = (
    "NetPIPE%(?=.*five)(?=.*pingpong)(?=.*one-per-node)",
    "RingNetwork%(?=.*mpi)(?=.*one-per-node)",
    "DDTBench%(?=.*MILC)(?=.*largest)(?=.*one-per-node)",
)
#: Checks of all our programs, and of those of others.
ALL_CHECKS = (
    *CHEAPEST_CHECKS,
    "Ring%(?=.*shared-memory)(?=.*transport=mpi)",
    "Ring%(?=.*shared-memory)(?=.*transport=all)",  # and by PVM
    "DDTBench%(?=.*(WRF_x_vec|LAMMPS_full))(?=.*largest)(?=.*one-per-node)",
    "NetPIPEReference%(?=.*one-per-node)",
    "OSU%(?=.*one-per-node)",
    "OSUGroup%(?=.*one-per-node)(?=.*ranks=2)(?=.*(allreduce|alltoall|bcast|barrier))",
    "NPB%(?=.*one-per-node)(?=.*problem_class=S)(?=.*upstream)(?=.*ranks=2)",
)
BY_HAND = (
    "set -o pipefail && mkdir -p runs && "
    "reframe -c checks -R --system={site}:clusterA -n '{names}' {only}"
    "-S budget=1 -S end=65536 -S limit=120 --max-retries=2 -r | tee runs/card.txt"
)
#: A line of a passed case, coloured or not: `[       OK ] ( 4/18) NetPIPE %mode=pingpong ...`.
PASSED_CASE = re.compile(r" OK\S* ?\] \( *\d+/\d+\) ")
#: One night as a batch job; the end of its output is shown.
NIGHT = (
    "mkdir -p runs && export ROUNDTRIP_NIGHTLY_BEGIN=never && "
    "sbatch --wait --output=runs/card-%j.out campaigns/nightly.sbatch {}; "
    "status=$?; tail -n 25 $(ls -t runs/card-*.out | head -n 1); exit $status"
)


def by_hand_script(site: str, toolchain: str | None, checks: Sequence[str]) -> str:
    """The script that launches checks on the head node, with `toolchain` or with all."""
    names = f"^({'|'.join(checks)})"
    option = f"-p '^{toolchain}$' " if toolchain else ""
    return BY_HAND.format(site=site, names=names, only=option)


def checks_not_run(checkout: Path, checks: Sequence[str]) -> list[str]:
    """The `checks` without a passed case: ReFrame calls a run without any case passed."""
    lines = (checkout / "runs" / "card.txt").read_text(errors="replace").splitlines()
    case_names = [
        line.split(") ", 1)[1].replace(" %", "%") for line in lines if PASSED_CASE.search(line)
    ]
    return [check for check in checks if not any(re.match(check, name) for name in case_names)]


def campaign_argument(checkout: Path, name: str, toolchain: str | None) -> str:
    """Campaign `name` of the checkout, or a copy of it that names only `toolchain`, if given."""
    if toolchain is None:
        return name
    text = (checkout / "campaigns" / f"{name}.toml").read_text()
    copy = checkout / "runs" / f"{name}-{toolchain}.toml"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(text.replace("[[check]]\n", f'[[check]]\ntoolchains = ["{toolchain}"]\n'))
    return str(copy)


def night_script(campaign: str) -> str:
    """The script that submits a night of a campaign, and waits for it."""
    return NIGHT.format(shlex.quote(campaign))
