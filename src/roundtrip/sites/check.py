"""``roundtrip site check``: everything that can be checked about a site on this machine.

The files of a site are data only, its partitions choose fabric and binding, Slurm has what it asks
for, its Spack part is sound, and ReFrame renders the job scripts that its checks would submit.
"""

from __future__ import annotations

import ast
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip.errors import UserError
from roundtrip.sites import data, differences, slurm, software
from roundtrip.sites.data import FILE, RDMA
from roundtrip.sites.scales import SIMULATED
from roundtrip.sites.site import Case, Finding, Site, select_tests, summarise
from roundtrip.sites.slurm import SlurmFacts
from roundtrip.sites.trials import mpi_key, run_reframe

#: Lines of a file of a site.
LONGEST_FILE = 100
#: A partition with this feature is documentation: no check may run there.
HISTORICAL = "historical"
_TIME = re.compile(r"^#SBATCH --time=(\S+)$", re.MULTILINE)


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


def choose_cases(site: Site, cases: Iterable[Case]) -> list[Case]:
    """One case of each check, placement, partition and MPI, because their scripts can differ."""
    chosen: dict[tuple[str, ...], Case] = {}
    for case in sorted(cases, key=lambda case: case.id):
        placement = dict(case.parameters).get("placement", "")
        mpi = mpi_key(site, case.environ)
        chosen.setdefault((case.check, placement, case.partition, *mpi), case)
    return list(chosen.values())


def render_scripts(site: Site, cases: Iterable[Case]) -> list[Script]:
    """Scripts of `cases`; UserError if ReFrame wrote no script for one of them."""
    by_partition: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_partition[case.partition].append(case)
    scripts = []
    with tempfile.TemporaryDirectory(prefix="roundtrip-scripts-") as name:
        folder = Path(name)
        for partition, group in by_partition.items():
            output = _dry_run(site, partition, group, folder)
            for case in group:
                stage = folder / "stage" / site.name / partition / case.environ
                files = sorted(stage.glob(f"{case.check}*_{case.hash}/rfm_job.sh"))
                if not files:
                    raise UserError(f"ReFrame rendered no job script for {case.id}: {output}")
                scripts.append(Script(case, _neutral(files[0].read_text(), site, folder)))
    return scripts


def _dry_run(site: Site, partition: str, cases: list[Case], folder: Path) -> str:
    """Let ReFrame render the scripts of `cases`; return its last line, for a message."""
    # Only their tests: to instantiate all tests of the checks takes ReFrame seconds.
    tests: dict[str, list[dict[str, list[str]]]] = defaultdict(list)
    for case in cases:
        tests[case.check].append({key: [value] for key, value in case.parameters})
    options = [
        *(f"--checkpath={file}" for file in sorted({site.checks[case.check] for case in cases})),
        "--dry-run",
        *(f"--name=/{hash_}" for hash_ in sorted({case.hash for case in cases})),
    ]
    environs = sorted({case.environ for case in cases})
    variables = {**select_tests(tests), "ROUNDTRIP_RUNS": str(folder)}
    return run_reframe(site, partition, environs, folder, options, variables)


def _neutral(text: str, site: Site, folder: Path) -> str:
    text = text.replace(str(folder), "@STAGE@")
    if environment := site.environment.get("SPACK_ENV"):
        text = text.replace(environment, "@SPACK_ENV@")
    text = text.replace(str(site.checkout), "@CHECKOUT@")
    return re.sub(r"(?<=_)[0-9a-f]{8}(?=\")", "@HASH@", text)


def check_files(site: Site) -> list[Finding]:
    """Whether the site's files are short, and have no launchers and no catch-all host names."""
    faults = []
    sizes = []
    for name in ("reframe.py", FILE):
        if (file := site.folder / name).is_file():
            lines = file.read_text().count("\n")
            sizes.append(f"{name} {lines} lines")
            if lines >= LONGEST_FILE:
                faults.append(
                    f"{name} has {lines} lines: a site is data, under {LONGEST_FILE} lines"
                )
    tree = ast.parse((site.folder / "reframe.py").read_text())
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    if "register_launcher" in called:
        faults.append("registers a launcher: put it into reframe/settings.py, for all sites")
    faults += [
        f"host name pattern '{pattern}' fits any machine"
        for pattern in site.system["hostnames"]
        if re.search(pattern, "a-machine-nobody-has")
    ]
    return summarise("site files", faults, f"{', '.join(sizes)}: loads in ReFrame")


def check_partitions(site: Site) -> list[Finding]:
    """Whether each partition names its fabric and binding, and sets what they need."""
    faults = []
    for name, partition in site.partitions.items():
        extras, features = partition.get("extras", {}), partition.get("features", [])
        variables = dict(partition.get("env_vars", []))
        if not extras.get("fabric"):
            faults.append(f"partition '{name}': no fabric chosen (extras: fabric)")
        if not extras.get("binding"):
            faults.append(f"partition '{name}': no binding chosen (extras: binding)")
        if HISTORICAL in features:
            continue
        if extras.get("fabric") in RDMA:
            faults += [
                f"partition '{name}': {variable} is not set, so UCX would choose by itself"
                for variable in ("UCX_NET_DEVICES", "UCX_TLS")
                if not variables.get(variable)
            ]
        if partition.get("max_jobs") != 1:
            faults.append(
                f"partition '{name}': max_jobs must be 1, or jobs share what they measure"
            )
    if any(one.get("extras", {}).get("binding") != "none" for one in site.partitions.values()):
        faults += _unbound_toolchains(site.toolchains.values())
    for kind, items in (("partition", site.partitions), ("environment", site.toolchains)):
        for name, item in items.items():
            faults += data.unknown_extras(kind, name, item.get("extras", {}))
    names = ", ".join(site.partitions)
    return summarise("fabric and binding", faults, f"chosen for {names}")


def _unbound_toolchains(toolchains: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        f"toolchain '{item['name']}': its launcher binds no rank to a core"
        for item in toolchains
        if "launcher" in item.get("extras", {})
        and SIMULATED not in item.get("features", [])
        and not any("bind" in option for option in item["extras"].get("launcher_options", []))
    ]


def check_site(site: Site, scripts_to: Path | None = None) -> list[Finding]:
    """Findings in the order of the site's parts; writes job scripts to `scripts_to` if given."""
    try:
        _ = site.partitions
    except UserError as error:
        return [Finding("fault", "reframe.py", f"does not load: {error}")]
    except FileNotFoundError as error:
        return [Finding("fault", "reframe.py", f"cannot load it: no {error.filename} in PATH")]
    findings = [*check_files(site), *check_partitions(site), *differences.compare(site)]
    environment = site.checkout / "spack.yaml"
    if folder := site.spack:
        try:
            findings += software.check_files(folder, environment)
            if declared := data.from_folder(site.folder, site.checkout):
                findings += differences.check_pmix_package(declared, folder / "packages.yaml")
        except UserError as error:
            findings.append(Finding("fault", "Spack part", str(error)))
        findings += software.check_schema(folder, environment)
        findings += software.check_lock_file(site, folder, environment)
    findings += _check_nights(site)
    return findings + _check_scripts(site, scripts_to)


def _check_nights(site: Site) -> Iterator[Finding]:
    """Faults in what the site says of its nights, and in its own thresholds."""
    from roundtrip.collect import analysis  # takes a second, which other commands need not spend
    from roundtrip.history import annotations

    for name, load in (
        (annotations.FILE_NAME, annotations.load),
        (analysis.FILE_NAME, analysis.load),
    ):
        try:
            if (site.folder / name).exists():
                load(site.folder / name)
        except UserError as error:
            yield Finding("fault", name, str(error))


def _check_scripts(site: Site, folder: Path | None) -> list[Finding]:
    subject = "job scripts"
    try:
        cases = site.cases()
        if not cases:
            features = [set(p.get("features", [])) for p in site.partitions.values()]
            is_historical = all(HISTORICAL in each for each in features)
            why = "historical: nothing runs" if is_historical else "no toolchain is installed"
            return [Finding("not checked", subject, f"ReFrame lists no case here: {why}")]
        rendered = render_scripts(site, choose_cases(site, cases))
    except UserError as error:
        return [Finding("fault", subject, str(error))]
    longer = too_long(rendered, site, differences.ask_slurm()[0])
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for script in rendered:
            (folder / script.name).write_text(script.text)
    checks = sorted({script.case.check for script in rendered})
    place = f", in {folder}" if folder else ""
    fine = f"{len(rendered)} rendered for {', '.join(checks)}{place}"
    return summarise(subject, longer, fine)


def too_long(scripts: Iterable[Script], site: Site, cluster: SlurmFacts) -> list[str]:
    """Job scripts that ask for more time than their partition allows."""
    faults = set()
    for script in scripts:
        partition = site.partitions[script.case.partition]
        access = differences.access_options(partition.get("access", []))
        longest = cluster.limit(access.get("partition", "")).longest_s
        match = _TIME.search(script.text)
        wanted = slurm.seconds(match[1]) if match else None
        if longest is not None and wanted is not None and wanted > longest:
            faults.add(
                f"{script.case.check} asks for {wanted // 60} minutes of partition "
                f"'{access['partition']}', which allows {longest // 60}"
            )
    return sorted(faults)
