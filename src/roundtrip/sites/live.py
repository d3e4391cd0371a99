"""``roundtrip site check --live``: tries every MPI of a site on its nodes, and corrects site.toml.

A correction is a line that a trial has shown to work; comments and all else stay.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.sites import data, launching, schedulers, trials
from roundtrip.sites.site import Finding, Site
from roundtrip.sites.trials import JobAnnouncer, LauncherCommand, Trial, TrialTarget


@dataclass(frozen=True)
class SettingLine:
    """A line of site.toml that sets `key` of a `table` ("": before all tables) to `value`."""

    table: str
    key: str
    value: str | list[str]

    def __str__(self) -> str:
        return f"{f'[{self.table}] ' if self.table else ''}{self._assignment}"

    def is_in(self, content: Mapping[str, Any]) -> bool:
        """Whether the `content` of a site.toml has this value."""
        value: Any = content
        for name in filter(None, (*self.table.split("."), self.key)):
            value = value.get(name) if isinstance(value, Mapping) else None
        return bool(value == self.value)

    @property
    def _assignment(self) -> str:
        return f"{self.key} = {json.dumps(self.value)}"

    def apply_to(self, text: str) -> str:
        """Return the `text` of a site.toml with this line in it."""
        begin, end = _table_body_span(text, self.table)
        if begin is None:
            return f"{text.rstrip()}\n\n[{self.table}]\n{self._assignment}\n"
        body, line = text[begin:end], self._assignment
        pattern = re.compile(rf"^{re.escape(self.key)}[ \t]*=.*$", re.MULTILINE)
        if match := pattern.search(body):
            body = body[: match.start()] + line + body[_assignment_end_offset(body, match) :]
        else:
            body = f"{line}\n{body}" if self.table else f"{body.rstrip()}\n{line}\n\n"
        return text[:begin] + body + text[end:]


def apply_lines(text: str, lines: Sequence[SettingLine], file: Path | None = None) -> str:
    """Return the `text` of a site.toml, `file`, with all `lines` in it.

    UserError if the result lacks one of their values: TOML has more ways to write a table.
    """
    new_text = functools.reduce(lambda result, line: line.apply_to(result), lines, text)
    final_lines = {(line.table, line.key): line for line in lines}.values()
    try:
        content = files.parse_toml(new_text)
    except UserError:
        content = {}
    if not all(line.is_in(content) for line in final_lines):
        lines_text = ", ".join(map(str, final_lines))
        raise UserError(f"is left as it is; edit it by hand so that it has: {lines_text}", file)
    return new_text


def lines_for_launcher(family: str, launcher_command: tuple[str, ...]) -> list[SettingLine]:
    """Return the lines by which ranks of an MPI `family` start by the launcher with its options."""
    launcher, *options = launcher_command
    table = f"launch.{family}"
    if scheduler_options := schedulers.options_of_launcher(launcher):
        (pmi,) = (item.removeprefix(scheduler_options.pmi_prefix) for item in options)
        lines = [SettingLine(table, "launcher", launcher), SettingLine(table, "pmi", pmi)]
        return [*lines, SettingLine(table, "options", [])]  # not those of another launcher
    return [SettingLine(table, "launcher", launcher), SettingLine(table, "options", options)]


def _assignment_end_offset(text: str, assignment: re.Match[str]) -> int:
    """Return the offset in `text` at which an assignment ends; its array may span several lines."""
    for line_end in re.compile(r"$", re.MULTILINE).finditer(text, assignment.end()):
        try:
            files.parse_toml(text[assignment.start() : line_end.start()])
        except UserError:
            continue
        return line_end.start()
    return assignment.end()


def _table_body_span(text: str, name: str) -> tuple[int | None, int]:
    """Return the offsets of the begin and end of a table's keys; (None, 0) if it is missing."""
    headings = list(re.finditer(r"^\[(.+?)\][ \t]*(?:#.*)?\n", text, re.MULTILINE))
    if not name:
        return 0, headings[0].start() if headings else len(text)
    for number, heading in enumerate(headings):
        if heading[1].strip() == name:
            successors = headings[number + 1 : number + 2]
            return heading.end(), successors[0].start() if successors else len(text)
    return None, 0


@dataclass
class LiveCheckResult:
    """Findings, and the lines of site.toml that would correct the faults."""

    findings: list[Finding] = field(default_factory=list)
    lines: list[SettingLine] = field(default_factory=list)

    def add_fault(self, subject: str, detail: str, lines: list[SettingLine] | None = None) -> None:
        """Add a fault, with the `lines` that correct it."""
        cure = f"; in {data.SITE_FILE}: {', '.join(map(str, lines))}" if lines else ""
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
    """Return whether the nodes have the site's network interface; add a fault to `result` if not.

    Without it no MPI would start.
    """
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
        lines = (
            [SettingLine("values", "interface", intersection.pop())]
            if len(intersection) == 1
            else []
        )
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
