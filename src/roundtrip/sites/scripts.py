"""Renders the job scripts that a site's checks would submit; ReFrame submits none of them."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from roundtrip.campaign.site import Asked, Case, Site, asking
from roundtrip.errors import UserError


@dataclass(frozen=True)
class Script:
    """The job script of one case, with this machine's paths replaced by placeholders."""

    case: Case
    text: str

    @property
    def name(self) -> str:
        """A file name: ``NetPIPE-one-per-node@ib-rc+openmpi50-boost186.sh``."""
        placement = dict(self.case.parameters).get("placement")
        check = f"{self.case.check}-{placement}" if placement else self.case.check
        return f"{check}@{self.case.partition}+{self.case.environ}.sh"


def choose(site: Site, cases: Iterable[Case]) -> list[Case]:
    """One case of each check, placement, partition and MPI, because their scripts can differ."""
    chosen: dict[tuple[str, ...], Case] = {}
    for case in sorted(cases, key=lambda case: case.id):
        extras = site.toolchains[case.environ].get("extras", {})
        mpi = [str(extras.get(key, "")) for key in ("mpi", "mpi_version", "transport")]
        placement = dict(case.parameters).get("placement", "")
        chosen.setdefault((case.check, placement, case.partition, *mpi), case)
    return list(chosen.values())


def render(site: Site, cases: Iterable[Case]) -> list[Script]:
    """Scripts of `cases`; UserError if ReFrame wrote no script for one of them."""
    by_partition: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_partition[case.partition].append(case)
    found = []
    with tempfile.TemporaryDirectory(prefix="roundtrip-scripts-") as name:
        folder = Path(name)
        for partition, group in by_partition.items():
            output = _dry_run(site, partition, group, folder)
            for case in group:
                stage = folder / "stage" / site.name / partition / case.environ
                files = sorted(stage.glob(f"{case.check}*_{case.hash}/rfm_job.sh"))
                if not files:
                    raise UserError(f"ReFrame rendered no job script for {case.id}: {output}")
                found.append(Script(case, _neutral(files[0].read_text(), site, folder)))
    return found


def _dry_run(site: Site, partition: str, cases: list[Case], folder: Path) -> str:
    """Run ReFrame and return its last line, for a message.  Its exit status means nothing: sanity
    may need output that a dry run does not have."""
    environs = "|".join(sorted({case.environ for case in cases}))
    done = subprocess.run(
        [
            "reframe",
            *(
                f"--checkpath={file}"
                for file in sorted({site.checks[case.check] for case in cases})
            ),
            "--dry-run",
            "--keep-stage-files",
            f"--prefix={folder}",
            f"--perflogdir={folder / 'perflogs'}",
            f"--report-file={folder / 'report.json'}",
            f"--system={site.name}:{partition}",
            *(f"--name=/{hash_}" for hash_ in sorted({case.hash for case in cases})),
            f"--prgenv=^({environs})$",
        ],
        cwd=site.checkout,
        env={
            **site.environment,
            **asking(_asked(cases)),
            "ROUNDTRIP_RUNS": str(folder),
            "RFM_SQLITE_DB_FILE": str(folder / "results.db"),
        },
        capture_output=True,
        text=True,
    )
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def _asked(cases: list[Case]) -> Asked:
    """The tests of `cases` and no others: making all that the checks have takes ReFrame seconds."""
    asked: dict[str, list[dict[str, list[str]]]] = defaultdict(list)
    for case in cases:
        asked[case.check].append({key: [value] for key, value in case.parameters})
    return asked


def _neutral(text: str, site: Site, folder: Path) -> str:
    text = text.replace(str(folder), "@STAGE@")
    if environment := site.environment.get("SPACK_ENV"):
        text = text.replace(environment, "@SPACK_ENV@")
    text = text.replace(str(site.checkout), "@CHECKOUT@")
    return re.sub(r"(?<=_)[0-9a-f]{8}(?=\")", "@HASH@", text)
