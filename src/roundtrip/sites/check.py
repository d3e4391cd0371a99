"""``roundtrip site check``: all checks of a site that are possible on this machine.

The files of a site are data only, its partitions choose fabric and binding, the scheduler offers
what the site requests, its Spack part is valid, and ReFrame renders the job scripts of its checks.
With ``--live``, every MPI is tried on the nodes; a correction of site.toml is a line that a trial
has shown to work.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundtrip.errors import UserError
from roundtrip.sites import data, launching, schedulers, software, trials
from roundtrip.sites.data import RDMA_FABRICS, SITE_FILE
from roundtrip.sites.schedulers.interface import Cluster
from roundtrip.sites.site import Case, Finding, Site, findings_of_faults, last_line
from roundtrip.sites.site_file import SettingLine
from roundtrip.sites.trials import JobAnnouncer, LauncherCommand, Trial, TrialTarget

#: A partition with this feature is documentation: no check may run there.
_HISTORICAL_FEATURE = "historical"


@dataclass(frozen=True)
class JobScript:
    """The job script of one case, with this machine's paths replaced by placeholders."""

    case: Case
    text: str

    @property
    def name(self) -> str:
        """Its file name: ``NetPIPE-one-per-node@ib-rc+openmpi50-boost186.sh``."""
        placement = dict(self.case.parameters).get("placement")
        check = f"{self.case.check}-{placement}" if placement else self.case.check
        return f"{check}@{self.case.partition}+{self.case.environ}.sh"


def render_job_scripts(site: Site, cases: Sequence[Case] | None = None) -> list[JobScript]:
    """Render the job scripts of `cases`, with placeholders for paths of this machine; by default,
    of one case of each check, placement, partition and MPI."""
    with tempfile.TemporaryDirectory(prefix="roundtrip-scripts-") as folder:
        text_by_case = site.render_job_scripts(Path(folder), cases)
    placeholder_by_path = {folder: "@STAGE@"}
    if environment := site.environment.get("SPACK_ENV"):
        placeholder_by_path[environment] = "@SPACK_ENV@"
    placeholder_by_path[str(site.checkout)] = "@CHECKOUT@"
    scripts = []
    for case, text in text_by_case.items():
        for path, placeholder in placeholder_by_path.items():
            text = re.sub(rf"{re.escape(path)}(?![\w.-])", placeholder, text)
        scripts.append(JobScript(case, re.sub(r"(?<=_)[0-9a-f]{8}(?=\")", "@HASH@", text)))
    return scripts


def check_site_files(site: Site) -> list[Finding]:
    """Check that the site's files are short, register no launcher or catch-all host name, and that
    bash can read its ``environment``."""
    faults = []
    sizes = []
    for name in ("reframe.py", SITE_FILE):
        if (file := site.folder / name).is_file():
            lines = file.read_text().count("\n")
            sizes.append(f"{name} {lines} lines")
            if lines >= 100:
                faults.append(f"{name} has {lines} lines: a site is data, under 100 lines")
    if re.search(r"\bregister_launcher\(", (site.folder / "reframe.py").read_text()):
        faults.append("registers a launcher: put it into reframe/settings.py, for all sites")
    if (file := site.folder / "environment").is_file():
        process = subprocess.run(["bash", "-n", file], capture_output=True, text=True)
        if process.returncode:
            faults.append(f"environment, which `activate` sources: {last_line(process.stderr)}")
    faults += [
        f"host name pattern '{pattern}' fits any machine"
        for pattern in site.system["hostnames"]
        if re.search(pattern, "a-machine-nobody-has")
    ]
    return findings_of_faults("site files", faults, f"{', '.join(sizes)}: loads in ReFrame")


def check_partitions(site: Site) -> list[Finding]:
    """Check that each partition names its fabric and binding and has the settings they need."""
    faults = []
    for name, partition in site.partitions.items():
        extras, features = partition.get("extras", {}), partition.get("features", [])
        variables, subject = dict(partition.get("env_vars", [])), f"partition '{name}'"
        for key in ("fabric", "binding"):
            if not extras.get(key):
                faults.append(f"{subject}: no {key} chosen (extras: {key})")
        if _HISTORICAL_FEATURE in features:
            continue
        if extras.get("fabric") in RDMA_FABRICS:
            faults += [
                f"{subject}: {variable} is not set, so UCX would choose by itself"
                for variable in ("UCX_NET_DEVICES", "UCX_TLS")
                if not variables.get(variable)
            ]
        if partition.get("max_jobs") != 1:
            faults.append(f"{subject}: max_jobs must be 1, or jobs share what they measure")
    if any(item.get("extras", {}).get("binding") != "none" for item in site.partitions.values()):
        faults += [
            f"toolchain '{item['name']}': its launcher binds no rank to a core"
            for item in site.toolchains.values()
            if "launcher" in item.get("extras", {})
            and launching.SIMULATED_FEATURE not in item.get("features", [])
            and not any("bind" in option for option in item["extras"].get("launcher_options", []))
        ]
    for kind, items, legal in (
        ("partition", site.partitions, sorted(data.PartitionExtras.model_fields)),
        ("environment", site.toolchains, sorted(data.DESCRIPTION_BY_ENVIRONMENT_EXTRA)),
    ):
        faults += [
            f"{kind} '{name}': unknown key '{key}' in extras; legal are {', '.join(legal)}"
            for name, item in items.items()
            for key in item.get("extras", {})
            if key not in legal
        ]
    names = ", ".join(site.partitions)
    return findings_of_faults("fabric and binding", faults, f"chosen for {names}")


def check_site(site: Site, scripts_folder: Path | None = None) -> list[Finding]:
    """Return the findings of all checks of `site`; write scripts to `scripts_folder`, if given."""
    try:
        _ = site.site_data
    except UserError as error:
        return [Finding("fault", SITE_FILE, str(error))]
    scripts, script_fault = [], ""
    try:
        scripts = render_job_scripts(site)  # first: it also reads ReFrame's configuration
    except UserError as error:
        script_fault = str(error)
    try:
        _ = site.partitions
    except UserError as error:
        return [Finding("fault", "reframe.py", f"does not load: {error}")]
    scheduler = schedulers.scheduler_of_site(site.partitions)
    cluster = scheduler.collect_cluster()
    findings = [*check_site_files(site), *check_partitions(site)]
    findings += scheduler.check_site(site, cluster)
    environment = site.checkout / "spack.yaml"
    if folder := site.spack_folder:
        try:
            findings += software.check_spack_files(folder, environment)
            if site.site_data:
                findings += software.check_pmix_package(site.site_data, folder / "packages.yaml")
        except UserError as error:
            findings.append(Finding("fault", "Spack part", str(error)))
        findings += software.check_spack_schema(folder, environment)
        findings += software.check_lock_file(site)
    if script_fault:
        return [*findings, Finding("fault", "job scripts", script_fault)]
    return findings + _check_scripts(site, scripts, cluster, scripts_folder)


def _check_scripts(
    site: Site, scripts: Sequence[JobScript], cluster: Cluster, folder: Path | None
) -> list[Finding]:
    subject = "job scripts"
    if not scripts:
        is_historical = all(
            _HISTORICAL_FEATURE in p.get("features", []) for p in site.partitions.values()
        )
        reason = "historical: nothing runs" if is_historical else "no toolchain is installed"
        return [Finding("not checked", subject, f"ReFrame lists no case here: {reason}")]
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for script in scripts:
            (folder / script.name).write_text(script.text)
    checks = sorted({script.case.check for script in scripts})
    suffix = f", in {folder}" if folder else ""
    summary = f"{len(scripts)} rendered for {', '.join(checks)}{suffix}"
    return findings_of_faults(subject, time_limit_faults(scripts, site, cluster), summary)


def time_limit_faults(scripts: Iterable[JobScript], site: Site, cluster: Cluster) -> list[str]:
    """Return a line for each check that requests more time than its partition allows."""
    faults = set()
    for script in scripts:
        partition = site.partitions[script.case.partition]
        scheduler = schedulers.scheduler_of_partition(partition)
        if fault := scheduler.time_limit_fault(script.text, partition, cluster):
            faults.add(f"{script.case.check} {fault}")
    return sorted(faults)


@dataclass
class LiveCheckResult:
    """Findings, and the lines of site.toml that would correct the faults."""

    findings: list[Finding] = field(default_factory=list)
    lines: list[SettingLine] = field(default_factory=list)

    def add_fault(self, subject: str, detail: str, lines: list[SettingLine] | None = None) -> None:
        """Add a fault, with the `lines` that correct it."""
        cure = f"; in {SITE_FILE}: {', '.join(map(str, lines))}" if lines else ""
        self.findings.append(Finding("fault", subject, detail + cure))
        self.lines += [line for line in lines or [] if line not in self.lines]


def check_live(site: Site, announce: JobAnnouncer) -> LiveCheckResult:
    """Submit jobs: two ranks of each MPI by the site's launcher or, if it fails, the others."""
    result = LiveCheckResult()
    if accounting := schedulers.scheduler_of_site(site.partitions).check_job_results(site):
        detail, remedy = accounting
        if remedy:
            lines = [SettingLine("every_partition", "scheduler", remedy)]
            result.add_fault("accounting", detail, lines)
            return result
        result.findings.append(Finding("ok", "accounting", detail))
    targets = trials.trial_targets(site)
    if not targets:
        result.findings.append(Finding("not checked", "live", "no toolchain is installed"))
        return result
    if not _check_node_interfaces(site, targets, result, announce):
        return result
    site_trials = trials.run_trials(site, [(target, [()]) for target in targets], announce)
    failures = [trial for trial in site_trials if _trial_fault(site, trial)]
    alternatives = {
        trial.target: _other_launcher_commands(site, trial.target) for trial in failures
    }
    plan = [(target, commands) for target, commands in alternatives.items() if commands]
    retries = trials.run_trials(site, plan, announce)
    for trial in site_trials:
        own_retries = [retry for retry in retries if retry.target == trial.target]
        _add_trial_findings(site, trial, own_retries, result)
    return result


def _check_node_interfaces(
    site: Site, targets: list[TrialTarget], result: LiveCheckResult, announce: JobAnnouncer
) -> bool:
    """Return whether the nodes have the site's network interface, without which no MPI would start;
    add a fault to `result` if not."""
    matches = True
    for target in {target.partition: target for target in targets}.values():
        interface = _partition_extras(site, target).get("interface")
        interfaces = trials.collect_interfaces(site, target, announce)
        bad_hosts = [host for host, names in interfaces.items() if interface not in names]
        if not interface or not bad_hosts:
            continue
        matches = False
        intersection = set.intersection(*interfaces.values())
        names = ", ".join(sorted(interfaces[bad_hosts[0]])) or "none"
        fault = f"there is no interface '{interface}' on {bad_hosts[0]}: {names}"
        lines = []
        if len(intersection) == 1:
            lines.append(SettingLine("values", "interface", intersection.pop()))
        result.add_fault(f"nodes of {target.partition}", fault, lines)
    return matches


def _trial_node_count(site: Site, target: TrialTarget) -> int:
    return 2 if _partition_extras(site, target).get("nodes", 1) > 1 else 1


def _partition_extras(site: Site, target: TrialTarget) -> dict[str, Any]:
    extras: dict[str, Any] = site.partitions[target.partition].get("extras", {})
    return extras


def _trial_fault(site: Site, trial: Trial) -> str | None:
    if reason := trials.start_fault(trial.output, _trial_node_count(site, trial.target)):
        return f"{reason}: {trial.reason}" if trial.reason else reason
    extras = _partition_extras(site, trial.target)
    return trials.binding_fault(trial.output, extras) if trial.output else None


def _other_launcher_commands(site: Site, target: TrialTarget) -> list[LauncherCommand]:
    """Return every launcher, with options, for the ranks of this MPI except the site's."""
    extras = site.toolchains[target.environ].get("extras", {})
    scheduler = schedulers.scheduler_of_partition(site.partitions[target.partition])
    launcher = extras.get("launcher") or scheduler.launcher
    site_command = {launcher, *extras.get("launcher_options", [])}
    commands = launching.launcher_commands(
        str(extras.get("mpi")), scheduler, scheduler.collect_cluster().offered_pmis
    )
    return [command for command in commands if not set(command) <= site_command]


def _add_trial_findings(
    site: Site, trial: Trial, retries: list[Trial], result: LiveCheckResult
) -> None:
    target, extras = trial.target, _partition_extras(site, trial.target)
    subject = f"{target.environ} on {target.partition}"
    if problem := _trial_fault(site, trial):
        # The first retry without a fault; if this trial did not start, else one that starts.
        nodes = _trial_node_count(site, target)
        remedies = [retry for retry in retries if not _trial_fault(site, retry)]
        if trials.start_fault(trial.output, nodes):
            remedies += [item for item in retries if not trials.start_fault(item.output, nodes)]
        family = str(site.toolchains[target.environ].get("extras", {}).get("mpi"))
        lines = lines_for_launcher(family, remedies[0].launcher_command) if remedies else []
        commands = ", ".join(" ".join(retry.launcher_command) for retry in retries)
        suffix = "" if remedies or not retries else f"; nor does it by {commands}"
        result.add_fault(subject, problem + suffix, lines)
    if trial.output is None:
        return
    daemon = schedulers.scheduler_of_partition(site.partitions[target.partition]).node_daemon
    for fault in trials.node_faults(trial.output, extras, daemon):
        result.add_fault(subject, fault)
    if not problem:
        result.findings.append(Finding("ok", subject, trials.describe_trial(trial.output)))


def lines_for_launcher(family: str, launcher_command: tuple[str, ...]) -> list[SettingLine]:
    """Return the lines by which ranks of an MPI `family` start by the launcher with its options."""
    launcher, *options = launcher_command
    table = f"launch.{family}"
    if scheduler_options := schedulers.options_of_launcher(launcher):
        (pmi,) = (item.removeprefix(scheduler_options.pmi_prefix) for item in options)
        lines = [SettingLine(table, "launcher", launcher), SettingLine(table, "pmi", pmi)]
        return [*lines, SettingLine(table, "options", [])]  # not those of another launcher
    return [SettingLine(table, "launcher", launcher), SettingLine(table, "options", options)]
