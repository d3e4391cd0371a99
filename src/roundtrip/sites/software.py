"""The Spack part of a site: the command, the matrix of ``spack.yaml``, the files, the lock file.

A lock file of another site, or of an older ``spack.yaml``, would label all results wrongly:
`require_ready_site` refuses it before a launch.

By default, Spack takes the newest PMIx.  A client of another series than the server's may fail on
the nodes, with messages that do not name the cause.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from roundtrip import tables
from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites import programming_environments, schedulers
from roundtrip.sites.data import SiteData
from roundtrip.sites.lock import ConcreteSpec, SpackLock
from roundtrip.sites.site import Finding, Site, findings_of_faults, last_line

#: The first version whose `include` accepts environment variables, which spack.yaml uses.
MIN_SPACK_VERSION = (1, 1)
_MIN_SPACK_TEXT = "1.1 or newer is needed"
_SPEC_TOKEN_PATTERN = re.compile(r"[@%]=?[^\s+~^@%]+|[+~][\w-]+|[\w.-]+:?=\S+|[\w.-]+")
_SCHEMA_CHECK_SCRIPT = """
import importlib, json
import spack.config
import spack.util.spack_yaml as syaml

faults = []
for name, section in json.loads({files!r}):
    schema = importlib.import_module("spack.schema." + section).schema
    try:
        with open(name) as file:
            spack.config.validate(syaml.load(file), schema, name)
    except Exception as error:
        faults.append([name, str(error)])
print("FAULTS " + json.dumps(faults))
"""


class SpackCommand(NamedTuple):
    """An installed Spack that is new enough: its program and version."""

    command: Path
    version: str

    def schema_faults(self, files: Sequence[Path]) -> list[str]:
        """A line for each file that Spack's own schema refuses; UserError if Spack fails."""
        sections = [[str(f), "env" if f.stem == "spack" else f.stem] for f in files]
        code = _SCHEMA_CHECK_SCRIPT.format(files=json.dumps(sections))
        statement = f"exec({code!r})"  # `spack python -c` takes one statement
        command = [str(self.command), "python", "-c", statement]
        process = subprocess.run(command, capture_output=True, text=True)
        match = re.search(r"^FAULTS (.*)$", process.stdout, re.MULTILINE)
        if not match:
            raise UserError(f"`spack python` failed: {last_line(process.stderr + process.stdout)}")
        faults: list[list[str]] = json.loads(match[1])
        return [f"{name}: {' '.join(text.split())}" for name, text in faults]


def find_spack() -> SpackCommand | None:
    """Spack in ``$SPACK_ROOT`` or PATH; None without one, UserError if it is too old."""
    root = os.environ.get("SPACK_ROOT")
    program = (shutil.which("spack", path=f"{root}/bin") if root else None) or shutil.which("spack")
    if program is None:
        return None
    candidate = Path(program)
    process = subprocess.run([candidate, "--version"], capture_output=True, text=True)
    number = re.match(r"\d+\.\d+", process.stdout)
    if not number:
        raise UserError(f"{candidate} does not run: {last_line(process.stderr + process.stdout)}")
    if tuple(map(int, number[0].split("."))) < MIN_SPACK_VERSION:
        raise UserError(f"{candidate} is Spack {process.stdout.strip()}: {_MIN_SPACK_TEXT}")
    return SpackCommand(candidate, process.stdout.split()[0])


def read_definitions(folder: Path) -> dict[str, list[str]]:
    """The lists of specs in ``definitions.yaml`` of a ``spack/`` folder; UserError without it."""
    file = folder / "definitions.yaml"
    if not file.is_file():
        raise UserError("missing: spack.yaml takes its MPIs and Boosts from it", file)
    entries = (tables.load_yaml(file) or {}).get("definitions", [])
    return {key: list(values) for entry in entries for key, values in entry.items()}


def expand_matrix(environment: Path, lists: dict[str, list[str]]) -> list[str]:
    """The root specs of spack.yaml with these `lists`, in order; UserError for an undefined one."""
    roots: list[str] = []
    for item in tables.load_yaml(environment)["spack"]["specs"]:
        rows = item["matrix"] if isinstance(item, dict) else [[item]]
        value_lists = [_expand_matrix_row(row, lists, environment) for row in rows]
        roots += [" ".join(parts) for parts in itertools.product(*value_lists)]
    return roots


def describe_root_mismatches(lock: SpackLock, roots: list[str]) -> list[str]:
    """Return a line for each root spec that the lock lacks or has in excess; at most 3 of each."""
    spec_counts = Counter(map(canonical_spec, roots))
    lock_counts = Counter(canonical_spec(root.spec) for root in lock.roots)
    missing, excess = spec_counts - lock_counts, lock_counts - spec_counts
    return [
        *_first_lines("not in the lock file", sorted(missing.elements())),
        *_first_lines("in the lock file and not asked for", sorted(excess.elements())),
    ]


def canonical_spec(spec: str) -> str:
    """Return the Spack spec with sorted variants and dependencies, to compare it with another."""
    parts = []
    for part in re.split(r"\s*\^", spec):
        name, *rest = _SPEC_TOKEN_PATTERN.findall(part)
        sorted_values = [
            f"{key}={','.join(sorted(value.split(',')))}" if value else key
            for key, _, value in (token.partition("=") for token in rest)
        ]
        parts.append(" ".join([name, *sorted(sorted_values)]))
    root, *dependencies = parts
    return " ^".join([root, *sorted(dependencies)])


def _first_lines(title: str, roots: list[str], limit: int = 3) -> list[str]:
    lines = [f"{title}: {root}" for root in roots[:limit]]
    return lines + ([f"{title}: {len(roots) - limit} more"] if len(roots) > limit else [])


def _expand_matrix_row(row: list[str], lists: dict[str, list[str]], environment: Path) -> list[str]:
    values: list[str] = []
    for item in row:
        reference = re.fullmatch(r"\$(\^?)(\w+)", item)
        if not reference:
            values.append(item)
            continue
        caret, name = reference.groups()
        if name not in lists:
            raise UserError(f"the site does not define '{name}', which this file uses", environment)
        values += [f"{caret}{value}" for value in lists[name]]
    return values


def check_spack_files(folder: Path, environment: Path) -> list[Finding]:
    """Check a ``spack/`` folder as far as that is possible without Spack."""
    lists = read_definitions(folder)
    specs = tables.load_yaml(environment)["spack"]["specs"]
    faults = [
        f"definitions.yaml does not define '{name}', which spack.yaml uses"
        for name in sorted({*re.findall(r"\$\^?(\w+)", str(specs))} - set(lists))
    ]
    packages = (tables.load_yaml(folder / "packages.yaml") or {}).get("packages", {})
    for mpi in lists.get("mpis", []):
        name = re.split(r"[@+~ ]", mpi, maxsplit=1)[0]
        settings = packages.get(name, {})
        if not settings.get("require") and not settings.get("externals"):
            faults.append(f"packages.yaml: {name} needs `require:`, or its fabric may change")
    faults += [
        f"packages.yaml: {name} uses `variants:`, only a preference: use `require:`"
        for name, settings in packages.items()
        if isinstance(settings, dict) and "variants" in settings
    ]
    faults += [
        f"packages.yaml: external '{item['spec']}' does not name its MPI (^openmpi@...)"
        for item in packages.get("boost", {}).get("externals", [])
        if "+mpi" in item["spec"] and "^" not in item["spec"]  # Spack would take any MPI for it
    ]
    concretizer = folder / "concretizer.yaml"
    if concretizer.is_file():
        settings = tables.load_yaml(concretizer)["concretizer"]
        if settings.get("concretization_cache", {}).get("enable"):
            faults.append("concretizer.yaml: the concretization cache returns stale hashes")
    summary = f"{len(lists.get('mpis', []))} MPIs, {len(lists.get('boosts', []))} Boosts"
    return findings_of_faults("Spack part", faults, summary)


def check_spack_schema(folder: Path, environment: Path) -> list[Finding]:
    """Check the files against Spack's own schema; not checked without Spack."""
    subject = "Spack's schema"
    try:
        spack = find_spack()
        if spack is None:
            return [Finding("not checked", subject, "no spack in $SPACK_ROOT or PATH")]
        names = [environment, *sorted(folder.glob("*.yaml"))]
        summary = f"{len(names)} files, Spack {spack.version}"
        return findings_of_faults(subject, spack.schema_faults(names), summary)
    except UserError as error:
        return [Finding("fault", subject, error.message)]


def check_lock_file(site: Site) -> list[Finding]:
    """Check that the active lock has one build per MPI, the matrix, and a spec per toolchain."""
    file = programming_environments.active_lock()
    if file is None:
        return [Finding("not checked", "lock file", "no concretized Spack environment is active")]
    try:
        lock = locks.read_lock(file)
        roots = _declared_root_specs(site)
        summary = f"{len(roots)} roots, all in the lock file"
        return [
            *check_one_build_per_mpi(lock, site.site_data.label if site.site_data else ()),
            *findings_of_faults("matrix", describe_root_mismatches(lock, roots), summary),
            *check_one_spec_per_environment(lock, list(site.toolchains.values())),
            *(check_pmix_lock(site.site_data, lock) if site.site_data else []),
        ]
    except UserError as error:
        return [Finding("fault", "lock file", str(error))]


def check_pmix_package(site: SiteData, packages: Path) -> list[Finding]:
    """Check that ``packages.yaml`` requires the site's series of PMIx."""
    title = _pmix_scheduler_title(site)
    if not title:
        return []
    entry = (tables.load_yaml(packages) or {}).get("packages", {}).get("pmix", {})
    requirement = entry.get("require", [])
    texts = [requirement] if isinstance(requirement, str) else list(requirement)
    texts += [item["spec"] for item in entry.get("externals", [])]
    matches = [re.search(r"@=?([\d.]+)", text) for text in texts if isinstance(text, str)]
    versions = [match[1] for match in matches if match]
    hint = f"packages.yaml: pmix needs `require: ['@{site.pmix}']`, or it is the newest"
    faults = [] if versions else [hint]
    faults += [
        f"packages.yaml: pmix is {version}, and site.toml says that {title} has {site.pmix}"
        for version in versions
        if version.split(".")[0] != site.pmix
    ]
    return findings_of_faults("PMIx", faults, f"series {site.pmix}, as {title}'s")


def check_pmix_lock(site: SiteData, lock: SpackLock) -> list[Finding]:
    """Check that each pmix in the lock file has the major version that site.toml names."""
    title = _pmix_scheduler_title(site)
    if not title:
        return []
    versions = sorted({spec.version for spec in lock.specs.values() if spec.name == "pmix"})
    faults = [
        f"the lock file has pmix {version}, and {title} has series {site.pmix}: "
        f"`require: ['@{site.pmix}']` in packages.yaml, then `spack concretize -f`"
        for version in versions
        if version.split(".")[0] != site.pmix
    ]
    return findings_of_faults("PMIx in the lock file", faults, ", ".join(versions) or "none")


def _pmix_scheduler_title(site: SiteData) -> str:
    """The title of the scheduler whose launcher starts an MPI by the site's PMIx; "" without."""
    names = {
        name for item in schedulers.SCHEDULERS for name in (item.launcher, *item.step_launchers)
    }
    if site.pmix is None or not site.uses_pmix(names):
        return ""
    return schedulers.scheduler_of_reframe_names(
        item.scheduler for item in site.partition.values()
    ).title


def check_one_build_per_mpi(lock: SpackLock, name_parts: Sequence[str] = ()) -> list[Finding]:
    """Check that each MPI (named by `name_parts`) has one hash, and that all have one target."""
    builds = sorted((spec.name_version, spec.hash[:7]) for spec in lock.mpi_by_hash.values())
    listing = ", ".join(f"{name} {hash_}" for name, hash_ in builds)
    faults = describe_ambiguous_builds(lock, name_parts)
    return findings_of_faults("one build per MPI", faults, listing or "the lock file holds no MPI")


def describe_ambiguous_builds(lock: SpackLock, name_parts: Sequence[str]) -> list[str]:
    """Return a line for each MPI name that stands for several builds, or for mixed targets."""

    def title(mpi: ConcreteSpec) -> str:
        name = programming_environments.mpi_name(mpi, lock, name_parts)
        return f"{mpi.name_version} ({name})" if name_parts else mpi.name_version

    return locks.describe_extra_builds(lock, title) + locks.describe_mixed_targets(lock)


def check_one_spec_per_environment(
    lock: SpackLock, environs: Sequence[Mapping[str, Any]]
) -> list[Finding]:
    """Check that ReFrame environments and roots of the lock correspond one to one."""
    roots = programming_environments.toolchain_spec_by_hash(lock)
    faults = []
    environment_by_spec: dict[str, str] = {}
    for environ in environs:
        name, spec = environ["name"], environ.get("extras", {}).get("spec")
        if spec is None:
            faults.append(f"environment '{name}' names no concrete spec (extras: spec)")
        elif spec not in roots:
            faults.append(f"environment '{name}' is {spec[:7]}, which is no root of the lock file")
        elif spec in environment_by_spec:
            faults.append(
                f"environments '{environment_by_spec[spec]}' and '{name}' are both {spec[:7]}"
            )
        else:
            environment_by_spec[spec] = name
    faults += [
        f"no environment for {name} ({hash_[:7]})"
        for hash_, name in roots.items()
        if hash_ not in environment_by_spec
    ]
    return findings_of_faults(
        "one spec an environment", faults, f"{len(environment_by_spec)} environments"
    )


def require_ready_site(site: Site) -> None:
    """UserError with the next step unless the site is ready, as it is without a Spack part."""
    if site.spack_folder is None:
        return
    file = programming_environments.active_lock()
    if file is None and (folder := os.environ.get("SPACK_ENV")):
        raise UserError(
            f"the Spack environment {folder} is not concretized: run `spack concretize`"
        )
    if file is None and find_spack() is None:  # a version that is too old is an error of its own
        raise UserError(
            f"site '{site.name}' has its toolchains from Spack, and there is no `spack` in PATH "
            f"or SPACK_ROOT: {_MIN_SPACK_TEXT}"
        )
    if file is None:
        reason = "needs an active Spack environment: run `spack env activate .`"
        raise UserError(f"site '{site.name}' {reason}")
    lock = locks.read_lock(file)
    require_current_lock(lock, site)
    if problems := describe_ambiguous_builds(lock, site.site_data.label if site.site_data else ()):
        raise UserError(problems[0], file)
    findings = check_one_spec_per_environment(lock, list(site.toolchains.values()))
    if faults := [finding.detail for finding in findings if finding.verdict == "fault"]:
        raise UserError(faults[0], file)
    if not any(partition["environs"] for partition in site.partitions.values()):
        raise UserError("none of its toolchains is installed: run `spack install`", file)


def require_current_lock(lock: SpackLock, site: Site) -> None:
    """UserError if `lock` does not match spack.yaml on `site`, which has a Spack part."""
    if differences := describe_root_mismatches(lock, _declared_root_specs(site)):
        raise UserError(
            f"does not match spack.yaml on site '{site.name}': {differences[0]}; "
            f"`. site-configs/activate {site.name}`, then `spack concretize -f`",
            lock.file,
        )


def _declared_root_specs(site: Site) -> list[str]:
    return expand_matrix(
        site.checkout / "spack.yaml", read_definitions(site.spack_folder or site.folder)
    )
