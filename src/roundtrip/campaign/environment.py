"""Records what a run was measured with: host, toolchains, site, versions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from roundtrip import files
from roundtrip.campaign.matrix import Matrix
from roundtrip.campaign.site import Site
from roundtrip.host import facts, programs
from roundtrip.sites.toolchains import active_lock

_TOOLS = ("roundtrip", "reframe-hpc", "polars", "scipy")


def record(site: Site, plan: Matrix, folder: Path) -> None:
    """Write ``host.json``, ``toolchains.json``, ``tools.json``, ``site-config.json`` to `folder`.

    The last is ReFrame's configuration of the site, whatever files it was made of.  Of an active
    Spack environment, ``spack.lock`` is copied.  ``tuning.json`` has what the user tunes, if
    anything.

    A resumed run records again: a file that differs from the first one is written beside it as
    ``<file>.resumed-<n>``, and nothing is overwritten.
    """
    folder.mkdir(exist_ok=True)
    used = sorted({item.case.environ for item in plan.expected})
    _write(folder / "host.json", json.dumps(facts.snapshot(), indent=1, sort_keys=True))
    _write(folder / "toolchains.json", json.dumps(_toolchains(site, used), indent=1))
    versions = {name: metadata.version(name) for name in _TOOLS}
    _write(folder / "tools.json", json.dumps(versions, indent=1))
    _write(folder / "site-config.json", json.dumps(site.system, indent=1))
    if lock := active_lock():
        _write(folder / "spack.lock", lock.read_text(encoding="utf-8"))
    if tunes := tuned(site):
        _write(folder / "tuning.json", json.dumps({"variables": [*tunes.items()]}, indent=1))


def warnings(site: Site) -> Iterator[str]:
    """A line for each thing that tunes MPI from outside of site and toolchains."""
    for name, value in tuned(site).items():
        yield f"{name} tunes MPI, and neither site nor toolchain sets it: {value[:80]}"


def tuned(site: Site) -> dict[str, str]:
    """What tunes MPI in launches of this site, and neither the site nor a toolchain sets."""
    places = [site.system, *site.partitions.values(), *site.toolchains.values()]
    declared = {str(name) for place in places for name in dict(place.get("env_vars") or ())}
    own = site.folder / "environment"
    script = own.read_text(errors="replace") if own.is_file() else ""
    return programs.tuning(declared | programs.set_variables(script))


def _toolchains(site: Site, names: list[str]) -> dict[str, object]:
    """By name: ReFrame's configuration of each toolchain, and what its installer recorded."""
    described: dict[str, object] = {}
    for name in names:
        extras = site.toolchains[name].get("extras", {})
        installed = Path(str(extras.get("prefix", ""))) / "toolchain.json"
        described[name] = {
            "reframe": site.toolchains[name],
            "installed": files.read_json(installed) if installed.is_file() else None,
        }
    return described


def _write(file: Path, text: str) -> None:
    if file.exists():
        if file.read_text() == text:
            return
        earlier = len(list(file.parent.glob(f"{file.name}.resumed-*")))
        file = file.with_name(f"{file.name}.resumed-{earlier + 1}")
    file.write_text(text)
