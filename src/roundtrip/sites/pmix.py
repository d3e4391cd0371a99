"""Holds the PMIx that MPIs are built with to the series that the cluster's Slurm was built with.

Spack would take the newest.  A client of another series than the server starts by luck only, and
fails on the nodes with messages that do not name the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from roundtrip.sites import yamlfile
from roundtrip.sites.data import SiteData
from roundtrip.sites.findings import Finding, summarise
from roundtrip.sites.lock import Lock

_SUBJECT = "PMIx"
#: The oldest series that Spack's packages release v2025.11 can build.
_OLDEST = 4


def series(plugins: Iterable[str]) -> str | None:
    """The series to build MPIs with for a Slurm that has these PMI `plugins`; None: not told.

    ``srun --mpi=list`` names the series of each PMIx plugin, ``pmix_v4``; srun takes the newest.
    """
    found = [int(name.removeprefix("pmix_v")) for name in plugins if name.startswith("pmix_v")]
    return str(max(*found, _OLDEST)) if found else None


def required(text: str, wanted: str) -> str:
    """The text of a ``packages.yaml`` with PMIx required in series `wanted`."""
    return re.sub(r"(?m)^(  pmix:.*\n    require: \[')@[\d.]+", rf"\g<1>@{wanted}", text)


def file(site: SiteData, packages: Path) -> list[Finding]:
    """Whether ``packages.yaml`` requires the series that the site names."""
    if site.pmix is None or not _speaks_pmix(site):
        return []
    entry = (yamlfile.load(packages) or {}).get("packages", {}).get("pmix", {})
    versions = _versions(entry)
    faults = []
    if not versions:
        faults.append(f"packages.yaml: pmix needs `require: ['@{site.pmix}']`, or it is the newest")
    faults += [
        f"packages.yaml: pmix is {version}, and site.toml says that Slurm has {site.pmix}"
        for version in versions
        if version.split(".")[0] != site.pmix
    ]
    return summarise(_SUBJECT, faults, f"series {site.pmix}, as Slurm's")


def lock(site: SiteData, held: Lock) -> list[Finding]:
    """Whether every PMIx in the lock file is of the series that the site names."""
    if site.pmix is None or not _speaks_pmix(site):
        return []
    built = sorted({spec.version for spec in held.specs.values() if spec.name == "pmix"})
    faults = [
        f"the lock file has pmix {version}, and Slurm has series {site.pmix}: "
        f"`require: ['@{site.pmix}']` in packages.yaml, then `spack concretize -f`"
        for version in built
        if version.split(".")[0] != site.pmix
    ]
    return summarise(f"{_SUBJECT} in the lock file", faults, ", ".join(built) or "none")


def slurm(site: SiteData, plugins: Iterable[str]) -> list[str]:
    """A line if Slurm's newest PMIx is of another series than the site says."""
    there = series(plugins)
    if not _speaks_pmix(site) or there is None or there == site.pmix:
        return []
    return [f'srun has PMIx of series {there}: `pmix = "{there}"` in site.toml']


def _speaks_pmix(site: SiteData) -> bool:
    return any(
        launch.pmi and launch.pmi.startswith("pmix") and launch.launcher in (None, "srun")
        for launch in site.launch.values()
    )


def _versions(entry: dict[str, Any]) -> list[str]:
    """Versions that an entry of ``packages.yaml`` requires, or has as externals."""
    required = entry.get("require", [])
    texts = [required] if isinstance(required, str) else list(required)
    texts += [item["spec"] for item in entry.get("externals", [])]
    found = [re.search(r"@=?([\d.]+)", text) for text in texts if isinstance(text, str)]
    return [match[1] for match in found if match]
