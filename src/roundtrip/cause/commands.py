"""Versions that commands build and launch: commits of a git repository, specs of Spack, values of
an environment variable.

Each version has a folder, which is kept for the next search; no build is repeated, not even a
failed one, unless it took too long.  The result of a launch is a number in its output, or its wall
time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from roundtrip.errors import UserError, printable
from roundtrip.measure.tree import git_output

#: Maximum length of the output line that explains a failure, in characters.
_MAX_REASON_LENGTH = 200
_BUILT_FILE, _LOG_FILE = "built.json", "build.log"
CompletedCommand = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Version:
    """A version: its name, the command that fetches it into an empty folder, the command that runs
    before each build and launch there, and the environment variables that it sets."""

    name: str
    fetch: str = ":"
    prepare: str = ":"
    variables: tuple[tuple[str, str], ...] = ()


@dataclass
class CommandLauncher:
    """Builds and launches versions; an arm is the index of a version.

    `metric`: a regular expression; the group of its last match in the output of a launch is the
    result.  "" stands for the wall time.  `build_timeout_s` limits a build.
    """

    versions: Sequence[Version]
    store: Path
    build_command: str
    launch_command: str
    metric: str = ""
    higher_is_better: bool = False
    build_timeout_s: float = 24 * 3600.0
    builds: int = 0

    @property
    def digest(self) -> str:
        """The sha256 of everything that determines the measurement; it reveals no command."""
        commands = (self.build_command, self.launch_command, self.metric, self.higher_is_better)
        return hashlib.sha256(repr((tuple(self.versions), *commands)).encode()).hexdigest()

    def build(self, arm: Hashable) -> str:
        """Fetch and build a version that is not built yet; return the reason of a failure, else "".

        The next search tries again a build that took too long.
        """
        version, folder = self._version_and_folder(arm)
        record = folder / _BUILT_FILE
        if not record.exists():
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "work").mkdir(parents=True)
            self.builds += 1
            command, limit_s = f"{version.fetch} && {version.prepare}", self.build_timeout_s
            try:
                process = self._run_command(version, folder, command, limit_s)
                if not process.returncode and self.build_command:
                    command = f"{version.prepare} && {self.build_command}"
                    process = self._run_command(version, folder, command, limit_s)
            except subprocess.TimeoutExpired:
                return f"took more than {limit_s:g} s"
            (folder / _LOG_FILE).write_text(process.stdout + process.stderr, encoding="utf-8")
            reason = _last_output_line(process) if process.returncode else ""
            record.write_text(json.dumps({"version": version.name, "why_not": reason}) + "\n")
        return str(json.loads(record.read_text()).get("why_not", ""))

    def launch(self, arm: Hashable, limit_s: float | None = None) -> float:
        """The result, or its reciprocal if higher is better; UserError for none in `limit_s` s."""
        version, folder = self._version_and_folder(arm)
        start = time.monotonic()
        command = f"{version.prepare} && {self.launch_command}"
        try:
            process = self._run_command(version, folder, command, limit_s)
        except subprocess.TimeoutExpired as error:
            raise UserError(f"took more than {error.timeout:.1f} s") from None
        value = time.monotonic() - start
        if process.returncode:
            raise UserError(f"status {process.returncode}: {_last_output_line(process)}")
        if self.metric:
            matches = re.findall(self.metric, process.stdout, re.MULTILINE)
            try:
                value = float(matches[-1])
            except (IndexError, ValueError):
                raise UserError(
                    f"its output has no number where --metric says: {matches[-1:]}"
                ) from None
        if not 0 < value < math.inf:
            raise UserError(f"its result is {value:g}; right is a number above 0")
        return 1 / value if self.higher_is_better else value

    def _version_and_folder(self, arm: Hashable) -> tuple[Version, Path]:
        assert isinstance(arm, int)  # noqa: S101
        version = self.versions[arm]
        key = hashlib.sha256(repr((version, self.build_command)).encode()).hexdigest()[:16]
        return version, self.store / key

    def _run_command(
        self, version: Version, folder: Path, command: str, limit_s: float | None
    ) -> CompletedCommand:
        """Run a command in the folder of a version; TimeoutExpired after `limit_s` seconds.

        It runs in a session of its own, so that an interrupt ends all its processes.
        """
        variables = [f"{name}={value}" for name, value in version.variables]
        with subprocess.Popen(
            ["env", f"ROUNDTRIP_VERSION={version.name}", *variables, "bash", "-c", command],
            cwd=folder / "work",
            env=os.environ,  # without what `roundtrip.stats` sets for this process alone
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, error = process.communicate(timeout=limit_s)
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        return CompletedCommand(process.args, process.returncode, output, error)


def git_versions(repository: Path, old: str, new: str) -> list[Version]:
    """The commits from `old` to `new` along first parents; UserError if there are none."""
    if not repository.is_dir():
        raise UserError("no such folder; right is a clone of git", repository)
    ends = []
    for name in (old, new):
        commit = git_output(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if not commit:
            raise UserError(f"{name!r} is no commit of it", repository)
        ends.append(commit)
    span = "..".join(ends)
    commits = (
        git_output(repository, "rev-list", "--reverse", "--first-parent", span) or ""
    ).split()
    if not commits or git_output(repository, "merge-base", *ends) != ends[0]:
        raise UserError(f"{old} is no earlier commit of {new}", repository)
    place = shlex.quote(str(repository.resolve()))
    return [
        Version(
            commit[:12],
            f"git clone --quiet --shared --no-checkout {place} . && git checkout --quiet {commit}",
        )
        for commit in (ends[0], *commits)
    ]


_SPACK_SPEC = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)@=?(?P<version>[\w.-]+)(?P<rest>.*)")


def spack_versions(old: str, new: str, candidates: Sequence[str] = ()) -> list[Version]:
    """Specs of a package from `old` to `new`; its versions are `candidates`, or those of Spack.

    UserError for another form, two packages, unknown versions, or if `old` is not older than `new`.
    """
    ends = [_SPACK_SPEC.fullmatch(spec) for spec in (old, new)]
    if not ends[0] or not ends[1] or ends[0]["name"] != ends[1]["name"]:
        raise UserError(f"{old} and {new}: right are two versions of one package, as name@1.2.3")
    name, rest = ends[1]["name"], ends[1]["rest"]
    versions = list(candidates) or _package_versions(name)
    end_versions = [end["version"] for end in ends if end]
    if unknown_versions := [version for version in end_versions if version not in versions]:
        unknown_spec = f"{name}@{unknown_versions[0]}"
        raise UserError(f"Spack knows no {unknown_spec}; it has: {', '.join(versions)}")
    low, high = (versions.index(version) for version in end_versions)
    if low >= high:
        raise UserError(f"{old} is not older than {new}")
    specs = [f"{name}@{version}{rest}" for version in versions[low : high + 1]]
    return [
        Version(
            spec,
            f"spack install --reuse {shlex.quote(spec)}",
            f'eval "$(spack load --sh {shlex.quote(spec)})"',
        )
        for spec in specs
    ]


def _package_versions(name: str) -> list[str]:
    """The versions of a package, oldest first."""
    try:
        process = subprocess.run(
            ["spack", "versions", "--safe", name], capture_output=True, text=True
        )
    except FileNotFoundError:
        raise UserError(
            "there is no spack here: activate it, as site-configs/README.md says"
        ) from None
    if process.returncode:
        raise UserError(_last_output_line(process))
    versions = [word for word in process.stdout.split() if word[:1].isdigit()]
    return versions[::-1]


def variable_versions(name: str, old: str, new: str, values: Sequence[str]) -> list[Version]:
    """Versions that set variable `name` to `old`, to each of `values`, and to `new`.

    By default, `values` are the doublings of the number `old` below the number `new`.  UserError
    for an illegal name, for no values, or if `old` and `new` are not the first and the last.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise UserError(f"--variable {name!r}: right is the name of an environment variable")
    if not values and old.isdigit() and new.isdigit() and int(old) < int(new):
        multiples = [int(old) << shift for shift in range(64) if int(old)]
        values = [*(str(number) for number in multiples if number < int(new)), new]
    if not values:
        raise UserError(f"which values lie between {old} and {new}? --values A,B,...")
    first, last = ([] if end in values else [end] for end in (old, new))
    all_values = list(dict.fromkeys([*first, *values, *last]))
    if (all_values[0], all_values[-1]) != (old, new):
        raise UserError(f"--values: {old} is to be the first and {new} the last")
    return [Version(f"{name}={value}", variables=((name, value),)) for value in all_values]


def _last_output_line(process: CompletedCommand) -> str:
    lines = [line for line in (process.stdout + "\n" + process.stderr).splitlines() if line.strip()]
    return (
        printable(lines[-1].strip()[:_MAX_REASON_LENGTH])
        if lines
        else f"status {process.returncode}"
    )
