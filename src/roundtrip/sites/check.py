"""``roundtrip site check``: all checks of a site that are possible on this machine.

The files of a site are data only, its partitions choose fabric and binding, Slurm offers what the
site requests, its Spack part is valid, and ReFrame renders the job scripts of its checks.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip.errors import UserError
from roundtrip.sites import data, slurm, software
from roundtrip.sites.data import FILE, RDMA
from roundtrip.sites.launching import SIMULATED
from roundtrip.sites.site import Case, Finding, Site, last_line, summarise
from roundtrip.sites.slurm import SlurmFacts

#: Number of lines from which a file of a site is too long.
MOST_LINES = 100
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


def render_scripts(site: Site, cases: Sequence[Case] | None = None) -> list[Script]:
    """Render the scripts of `cases` (default as in `Site.scripts`); UserError if one has none."""
    with tempfile.TemporaryDirectory(prefix="roundtrip-scripts-") as folder:
        text_by_case = site.scripts(Path(folder), cases)
    places = {folder: "@STAGE@"}
    if environment := site.environment.get("SPACK_ENV"):
        places[environment] = "@SPACK_ENV@"
    places[str(site.checkout)] = "@CHECKOUT@"
    scripts = []
    for case, text in text_by_case.items():
        for place, placeholder in places.items():
            text = text.replace(place, placeholder)
        scripts.append(Script(case, re.sub(r"(?<=_)[0-9a-f]{8}(?=\")", "@HASH@", text)))
    return scripts


def check_files(site: Site) -> list[Finding]:
    """Check that the site's files are short, without launchers and catch-all host names."""
    faults = []
    sizes = []
    for name in ("reframe.py", FILE):
        if (file := site.folder / name).is_file():
            lines = file.read_text().count("\n")
            sizes.append(f"{name} {lines} lines")
            if lines >= MOST_LINES:
                faults.append(f"{name} has {lines} lines: a site is data, under {MOST_LINES} lines")
    if re.search(r"\bregister_launcher\(", (site.folder / "reframe.py").read_text()):
        faults.append("registers a launcher: put it into reframe/settings.py, for all sites")
    faults += [
        f"host name pattern '{pattern}' fits any machine"
        for pattern in site.system["hostnames"]
        if re.search(pattern, "a-machine-nobody-has")
    ]
    return summarise("site files", faults, f"{', '.join(sizes)}: loads in ReFrame")


def check_partitions(site: Site) -> list[Finding]:
    """Check that each partition names its fabric and binding and has the settings they need."""
    faults = []
    for name, partition in site.partitions.items():
        extras, features = partition.get("extras", {}), partition.get("features", [])
        variables, place = dict(partition.get("env_vars", [])), f"partition '{name}'"
        for key in ("fabric", "binding"):
            if not extras.get(key):
                faults.append(f"{place}: no {key} chosen (extras: {key})")
        if HISTORICAL in features:
            continue
        if extras.get("fabric") in RDMA:
            faults += [
                f"{place}: {variable} is not set, so UCX would choose by itself"
                for variable in ("UCX_NET_DEVICES", "UCX_TLS")
                if not variables.get(variable)
            ]
        if partition.get("max_jobs") != 1:
            faults.append(f"{place}: max_jobs must be 1, or jobs share what they measure")
    if any(
        partition.get("extras", {}).get("binding") != "none"
        for partition in site.partitions.values()
    ):
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


def compare_limits(site: Site, cluster: SlurmFacts) -> list[Finding]:
    """Compare features, accelerators, QOS, accounts, accounting, binding and the nightly job.

    A fact that Slurm does not report is no fault.
    """
    faults: list[str] = []
    for name, partition in site.partitions.items():
        access = slurm.access_options(partition.get("access", []))
        if "partition" in access:
            faults += [f"partition '{name}': {fault}" for fault in _refused(access, cluster)]
    findings = summarise("features, QOS and accounts", faults, "all that the site asks, Slurm has")
    return [
        *findings,
        *summarise("accounting", _unaccounted(site, cluster.config), "as the scheduler needs"),
        *summarise("task binding", _unbound_by_srun(site, cluster.config), "as asked"),
        *summarise("nightly job", _nightly(site.environment, cluster), "Slurm would take it"),
    ]


def _refused(access: Mapping[str, str], cluster: SlurmFacts) -> list[str]:
    """Return a line for each request of a partition's access that Slurm lacks or would refuse."""
    name = access["partition"]
    kinds, limits = cluster.kinds.get(name, ()), cluster.limit(name)
    faults = [] if limits.up else [f"Slurm's '{name}' is not up: it starts no job"]
    features = {feature for kind in kinds for feature in kind.features}
    for feature in re.findall(r"[A-Za-z_][\w.-]*", access.get("constraint", "") if kinds else ""):
        if feature not in features:
            choices = ", ".join(sorted(features)) or "none"
            faults.append(f"no node of '{name}' has the feature '{feature}'; there are: {choices}")
    gres = access.get("gres", "").split(":")[0]
    if gres and kinds and not any(kind.gres.split(":")[0] == gres for kind in kinds):
        faults.append(f"no node of '{name}' has '{gres}'")
    for title, value, names, allowlist in (
        ("QOS", access.get("qos"), tuple(cluster.qos), limits.qos),
        ("account", access.get("account"), cluster.accounts, limits.accounts),
    ):
        if value and names and value not in names:
            faults.append(f"there is no {title} '{value}' for you; there are: {', '.join(names)}")
        elif value and allowlist and value not in allowlist:
            faults.append(f"'{name}' takes no {title} '{value}', only {', '.join(allowlist)}")
    return faults


def _unaccounted(site: Site, config: str) -> list[str]:
    if not config or "accounting_storage/slurmdbd" in config:
        return []
    return [
        f"partition '{name}': scheduler 'slurm' asks sacct, which answers nothing here: "
        'ReFrame would end without a result; `scheduler = "squeue"`'
        for name, partition in site.partitions.items()
        if partition["scheduler"] == "slurm"
    ]


def _unbound_by_srun(site: Site, config: str) -> list[str]:
    plugin = slurm.setting(config, "TaskPlugin")
    if not plugin or "task/affinity" in plugin:
        return []
    extras_by_name = {name: item.get("extras", {}) for name, item in site.toolchains.items()}
    return [
        f"toolchain '{name}' is bound by srun, and TaskPlugin is {plugin}, without task/affinity"
        for name, extras in extras_by_name.items()
        if extras.get("launcher") == "srun"
        and any(option.startswith("--cpu-bind") for option in extras.get("launcher_options", []))
    ]


def _nightly(environment: Mapping[str, str], cluster: SlurmFacts) -> list[str]:
    """Return a line for each option of nightly.sbatch in `environment` that Slurm would refuse."""
    partition = environment.get("SBATCH_PARTITION")
    if not partition or not cluster.limits:
        return []
    if partition not in cluster.limits:
        choices = ", ".join(sorted(cluster.limits))
        return [f"SBATCH_PARTITION: there is no partition '{partition}'; there are: {choices}"]
    names = {"partition": "SBATCH_PARTITION", "qos": "SBATCH_QOS", "account": "SBATCH_ACCOUNT"}
    access = {key: environment[name] for key, name in names.items() if environment.get(name)}
    faults = _refused(access, cluster)
    limit_s = cluster.limits[partition].longest_s
    time_limit = environment.get("SBATCH_TIMELIMIT")
    request_s = slurm.seconds(time_limit) if time_limit else slurm.NIGHT_S
    if limit_s is not None and request_s is not None and request_s > limit_s:
        faults.append(
            f"SBATCH_TIMELIMIT: {request_s // 60} minutes, and '{partition}' allows {limit_s // 60}"
        )
    return faults


def compare_slurm(site: Site, cluster: SlurmFacts) -> list[Finding]:
    """Compare partitions, sizes, PMI and limits with Slurm, or say why they were not checked."""
    options = {key: slurm.access_options(p.get("access", [])) for key, p in site.partitions.items()}
    slurm_names = {
        name: access["partition"] for name, access in options.items() if "partition" in access
    }
    subject = "Slurm partitions"
    if not slurm_names:
        return [Finding("not checked", subject, "the site names none")]
    names = ", ".join(sorted(set(slurm_names.values())))
    if not shutil.which("sinfo"):
        return [Finding("not checked", subject, f"no sinfo on this machine ({names})")]
    process = subprocess.run(["sinfo", "-h", "-o", slurm.SINFO], capture_output=True, text=True)
    if process.returncode:
        return [Finding("not checked", subject, f"sinfo failed: {last_line(process.stderr)}")]
    slurm_partitions = {item.name: item for item in slurm.parse_sinfo(process.stdout)}
    faults = [
        f"there is no partition '{name}'; there are: {', '.join(sorted(slurm_partitions))}"
        for name in sorted(set(slurm_names.values()) - set(slurm_partitions))
    ]
    sizes = [
        line
        for name, slurm_name in slurm_names.items()
        if slurm_name in slurm_partitions
        for line in _compare_size(
            name, site.partitions[name].get("extras", {}), slurm_partitions[slurm_name]
        )
    ]
    return [
        *summarise(subject, faults, names),
        *summarise("nodes, cores and sockets", sizes, "as sinfo has them, or fewer"),
        *_compare_pmi(site),
        *compare_limits(site, cluster),
    ]


def _compare_size(name: str, extras: Mapping[str, Any], partition: slurm.Partition) -> list[str]:
    """Return a line for each size that is missing or exceeds Slurm's; smaller sizes are legal."""
    lines, place = [], f"partition '{name}'"
    for quantity in ("nodes", "cores", "sockets"):
        count, site_count = getattr(partition, quantity), extras.get(quantity)
        if site_count is None and (count or quantity != "sockets"):
            lines.append(f"{place} does not say how many {quantity}: sinfo has {count}")
        elif site_count is not None and count and site_count > count:
            suffix = "" if quantity == "nodes" else " a node"
            lines.append(f"{place}: {site_count} {quantity}{suffix}, and sinfo has {count}")
    return lines


def _compare_pmi(site: Site) -> list[Finding]:
    """Check that srun offers every ``--mpi=`` of the toolchains."""
    subject = "PMI"
    starts = {
        (item["extras"].get("mpi") or item["name"], option.removeprefix("--mpi="))
        for item in site.toolchains.values()
        for option in item.get("extras", {}).get("launcher_options", [])
        if option.startswith("--mpi=")
    }
    if not starts:
        return [Finding("not checked", subject, "no toolchain is started by srun with a PMI")]
    if not shutil.which("srun"):
        return [Finding("not checked", subject, "no srun on this machine")]
    plugins = slurm.plugins()
    if not plugins:
        return [Finding("not checked", subject, "`srun --mpi=list` names none")]
    faults = [
        f"{mpi} is started with --mpi={pmi}, and srun has {', '.join(plugins)}"
        for mpi, pmi in sorted(starts)
        if pmi not in plugins
    ]
    faults += software.pmix_mismatch(site.declaration, plugins) if site.declaration else []
    return summarise(subject, faults, ", ".join(sorted({pmi for _, pmi in starts})))


def check_site(site: Site, scripts_folder: Path | None = None) -> list[Finding]:
    """Return all findings, by part of the site; write job scripts to `scripts_folder`."""
    scripts, script_fault = [], ""
    try:
        scripts = render_scripts(site)  # first: it also reads ReFrame's configuration
    except UserError as error:
        script_fault = str(error)
    try:
        _ = site.partitions
    except UserError as error:
        return [Finding("fault", "reframe.py", f"does not load: {error}")]
    cluster = slurm.gather_slurm_facts()
    findings = [*check_files(site), *check_partitions(site)]
    findings += compare_slurm(site, cluster)
    environment = site.checkout / "spack.yaml"
    if folder := site.spack:
        try:
            findings += software.check_files(folder, environment)
            if site.declaration:
                findings += software.check_pmix_package(site.declaration, folder / "packages.yaml")
        except UserError as error:
            findings.append(Finding("fault", "Spack part", str(error)))
        findings += software.check_schema(folder, environment)
        findings += software.check_lock_file(site)
    findings += _check_nights(site)
    if script_fault:
        return [*findings, Finding("fault", "job scripts", script_fault)]
    return findings + _check_scripts(site, scripts, cluster, scripts_folder)


def _check_nights(site: Site) -> Iterator[Finding]:
    """Yield the faults in the site's annotations of nights and in its own thresholds."""
    for name in ("annotations.yaml", "analysis.toml"):
        file = site.folder / name
        if file.exists():
            # Imported here, because it takes a second and other sites do not need it.
            from roundtrip.history import annotations
            from roundtrip.measure import analysis

            try:
                (annotations if name == "annotations.yaml" else analysis).load(file)
            except UserError as error:
                yield Finding("fault", name, str(error))


def _check_scripts(
    site: Site, scripts: Sequence[Script], cluster: SlurmFacts, folder: Path | None
) -> list[Finding]:
    subject = "job scripts"
    if not scripts:
        is_historical = all(HISTORICAL in p.get("features", []) for p in site.partitions.values())
        reason = "historical: nothing runs" if is_historical else "no toolchain is installed"
        return [Finding("not checked", subject, f"ReFrame lists no case here: {reason}")]
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for script in scripts:
            (folder / script.name).write_text(script.text)
    checks = sorted({script.case.check for script in scripts})
    place = f", in {folder}" if folder else ""
    summary = f"{len(scripts)} rendered for {', '.join(checks)}{place}"
    return summarise(subject, time_limit_faults(scripts, site, cluster), summary)


def time_limit_faults(scripts: Iterable[Script], site: Site, cluster: SlurmFacts) -> list[str]:
    """Return a line for each check that requests more time than its partition allows."""
    faults = set()
    for script in scripts:
        partition = site.partitions[script.case.partition]
        access = slurm.access_options(partition.get("access", []))
        limit_s = cluster.limit(access.get("partition", "")).longest_s
        match = _TIME.search(script.text)
        request_s = slurm.seconds(match[1]) if match else None
        if limit_s is not None and request_s is not None and request_s > limit_s:
            faults.add(
                f"{script.case.check} asks for {request_s // 60} minutes of partition "
                f"'{access['partition']}', which allows {limit_s // 60}"
            )
    return sorted(faults)
