"""Records the environment of a run, and finds what changed since the run began.

Host, toolchains, site and versions go into the folder ``env``; digests of campaign, spack.lock,
programs and their shared libraries go into `pins` of state.json: these files are pinned.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from itertools import zip_longest
from pathlib import Path

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import identity
from roundtrip.measure.matrix import Matrix
from roundtrip.measure.tree import RunTree
from roundtrip.sites import machine, programs
from roundtrip.sites.programming_environments import active_lock
from roundtrip.sites.site import Site


def record_environment(site: Site, plan: Matrix, folder: Path) -> None:
    """Write the environment of a run into `folder`, the ``env`` of its tree.

    ``host.json``, ``toolchains.json``, ``tools.json`` (versions), ``site-config.json`` (ReFrame's
    configuration), ``spack.lock`` of an active Spack environment, and ``tuning.json``, the user's
    MPI settings, if any.  What differs in a resumed run becomes ``<file>.resumed-<n>``.
    """
    folder.mkdir(exist_ok=True)
    _write_new_version(
        folder / "host.json", json.dumps(machine.collect_machine_record(), indent=1, sort_keys=True)
    )
    toolchains = {}
    for name in sorted({item.case.environ for item in plan.expected}):
        extras = site.toolchains[name].get("extras", {})
        file = Path(str(extras.get("prefix", ""))) / "toolchain.json"
        toolchains[name] = {
            "reframe": site.toolchains[name],
            "installed": files.read_json(file) if file.is_file() else None,
        }
    _write_new_version(folder / "toolchains.json", json.dumps(toolchains, indent=1))
    tools = ("roundtrip", "reframe-hpc", "polars", "scipy")
    versions = {name: metadata.version(name) for name in tools}
    _write_new_version(folder / "tools.json", json.dumps(versions, indent=1))
    _write_new_version(folder / "site-config.json", json.dumps(site.system, indent=1))
    if lock := active_lock():
        _write_new_version(folder / "spack.lock", lock.read_text(encoding="utf-8"))
    if settings := user_tuning(site):
        _write_new_version(
            folder / "tuning.json", json.dumps({"variables": [*settings.items()]}, indent=1)
        )


def tuning_warnings(site: Site) -> Iterator[str]:
    """Yield a warning for each MPI variable of the user that neither site nor toolchain sets."""
    for name, value in user_tuning(site).items():
        yield f"{name} tunes MPI, and neither site nor toolchain sets it: {value[:80]}"


def user_tuning(site: Site) -> dict[str, str]:
    """Return the user's MPI variables, and values, that neither the site nor a toolchain sets."""
    tables = [site.system, *site.partitions.values(), *site.toolchains.values()]
    variables = {str(name) for table in tables for name in dict(table.get("env_vars") or ())}
    file = site.folder / "environment"
    script = file.read_text(errors="replace") if file.is_file() else ""
    return programs.mpi_tuning_settings(variables | programs.assigned_variables(script))


def _write_new_version(file: Path, text: str) -> None:
    if file.exists():
        if file.read_text() == text:
            return
        count = len(list(file.parent.glob(f"{file.name}.resumed-*")))
        file = file.with_name(f"{file.name}.resumed-{count + 1}")
    file.write_text(text)


def record_pinned_digests(tree: RunTree) -> None:
    """Write the sha256 of pinned files, after all builds, to state.json, once for a run."""
    if tree.state.get("pins"):
        tree.write_state(stopped=None)
        return
    pins = [
        {"what": kind, "file": str(file), "sha256": digest}
        for kind, file in _pinned_files(tree)
        if (digest := programs.cached_sha256(file))
    ]
    tree.write_state(pins=pins)


def describe_change(tree: RunTree) -> str:
    """Describe the first change of a pinned file in one line; "" without one."""
    pins = tree.state.get("pins") or ()
    for pin in pins:
        file, old = Path(pin["file"]), pin["sha256"]
        new = programs.cached_sha256(file)
        if new != old:
            name = identity.describe_file(pin["file"])
            change = (
                f"{identity.MISMATCH_PREFIX}{pin['what']} {name} has changed since the run began"
            )
            return f"{change}: sha256 {old[:12]} then, {new[:12] if new else 'unreadable'} now"
    pinned_files = {pin["file"] for pin in pins}
    executables = (Path(pin["file"]) for pin in pins if pin["what"] == "program")
    for program in executables:
        for name, file in programs.linked_libraries(program).items():
            if str(file) not in pinned_files:
                change = (
                    f"{identity.MISMATCH_PREFIX}library {name} of program {program.name} is another"
                )
                return f"{change} file since the run began: {identity.describe_file(str(file))}"
    return ""


def require_unchanged(tree: RunTree, campaign: Path) -> None:
    """UserError if the file `campaign` or a pinned file has changed since the run began."""
    copy = tree.path / "campaign.toml"
    if programs.cached_sha256(campaign) != programs.cached_sha256(copy):
        texts = (files.read_text(file).splitlines() for file in (copy, campaign))
        pairs = enumerate(zip_longest(*texts, fillvalue=""), 1)
        differences = ((line, pair) for line, pair in pairs if pair[0] != pair[1])
        line, (old, new) = next(differences, (1, ("", "")))  # if only line ends differ
        why = f"line was {old!r} when this run began, and is {new!r}; start a new run"
        raise UserError(why, campaign, line)
    if change := describe_change(tree):
        raise UserError(f"{change}; start a new run", tree.path / "state.json")


def _pinned_files(tree: RunTree) -> Iterator[tuple[str, Path]]:
    yield "campaign", tree.path / "campaign.toml"
    if lock := active_lock():
        yield "lock file", lock
    lists = sorted(tree.path.glob(f"builds/*/*/*/*/*/*/{programs.PROGRAMS_FILE}"))
    # A full disk leaves an empty list of a failed build.
    listings = (file for file in lists if file.stat().st_size)
    executables = {Path(program) for file in listings for program in files.read_json(file)}
    libraries = {
        file for program in executables for file in programs.linked_libraries(program).values()
    }
    yield from (("program", program) for program in sorted(executables))
    yield from (("library", library) for library in sorted(libraries))
