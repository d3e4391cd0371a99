"""A site as ReFrame sees it: variables, partitions, toolchains, cases; findings of its check."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from roundtrip.errors import UserError
from roundtrip.model import is_name
from roundtrip.sites import data, site_file
from roundtrip.sites.data import SiteData

#: The tests that ReFrame instantiates: check -> products of parameters, values as in test names;
#: "ends": the first and the last value of each parameter except the placement.
TestSelection = Mapping[str, Sequence[Mapping[str, Sequence[str]]]] | Literal["ends"]

_CHECK_CLASS_PATTERN = re.compile(r"^@simple_test\nclass (\w+)\(", re.MULTILINE)
_COLOUR_CODE_PATTERN = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Case:
    """One ReFrame test case: a check with its parameters, on a partition, with a toolchain."""

    check: str
    parameters: tuple[tuple[str, str], ...]
    hash: str
    system: str
    partition: str
    environ: str

    @property
    def id(self) -> str:
        """``<check>/<k=v,...>@<system>:<partition>+<environ>``, parameters sorted by name."""
        values = ",".join(f"{key}={value}" for key, value in self.parameters)
        return f"{self.check}/{values}@{self.system}:{self.partition}+{self.environ}"


@dataclass(frozen=True)
class CheckTest:
    """A test that ReFrame makes of a check, even if it cannot run on the site.

    `skip_reason`: why it skips itself wherever it runs; "" if it does not.  `variables` are all of
    the check, `settable` those that a campaign may set.  The other fields are variables of
    ``checks/mixins``.
    """

    check: str
    parameters: Mapping[str, str]
    file: str
    hash: str
    variables: Sequence[str] = ()
    settable: Sequence[str] = ()
    skip_reason: str = ""
    study: str = ""
    num_tasks: int | None = None
    num_tasks_per_node: int | None = None
    needs: Sequence[str] = ()
    remedies: Mapping[str, str] = field(default_factory=dict)
    not_simulated_reason: str = ""


@dataclass(frozen=True)
class CheckListing:
    """Tests that ReFrame makes, cases that it would run on the site, and rendered job scripts."""

    tests: list[CheckTest]
    cases: list[Case]
    scripts: Mapping[str, str]


def test_selection_variables(tests: TestSelection) -> dict[str, str]:
    """Return the environment variables by which ReFrame instantiates `tests` only, to save time."""
    return {"ROUNDTRIP_TESTS": json.dumps(tests)}


FindingVerdict = Literal["ok", "fault", "not checked"]


@dataclass(frozen=True)
class Finding:
    """Result of a check of a site's `subject`; `detail`: what is, the fault, or why not checked."""

    verdict: FindingVerdict
    subject: str
    detail: str


def last_line(text: str) -> str:
    """Return the last non-empty line of a command's output, for a message."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def findings_of_faults(subject: str, faults: list[str], summary: str) -> list[Finding]:
    """Return a finding for each fault or, without faults, one with `summary`."""
    if not faults:
        return [Finding("ok", subject, summary)]
    return [Finding("fault", subject, fault) for fault in faults]


class Site:
    """The folder ``site-configs/<name>`` as the pinned ReFrame reads it; UserError if there is
    none.  The properties raise it if ReFrame fails on it."""

    def __init__(self, name: str, checkout: Path) -> None:
        self.name = name
        self.checkout = checkout
        sites = checkout / "site-configs"
        self.folder = sites / name
        self._warnings: list[str] = []
        if not is_name(name) or not (self.folder / "reframe.py").is_file():
            names = sorted(p.parent.name for p in sites.glob("*/reframe.py") if p.is_file())
            raise UserError(f"unknown site '{name}'; there are: {', '.join(names)}")

    @property
    def spack_folder(self) -> Path | None:
        """The site's ``spack/``, which spack.yaml includes; None if Spack builds nothing here."""
        folder = self.folder / "spack"
        return folder if folder.is_dir() else None

    @cached_property
    def site_data(self) -> SiteData | None:
        """The content of site.toml; None for a site that is written in Python only."""
        file = self.folder / data.SITE_FILE
        if not file.is_file():
            return None
        return site_file.read_site_data(file, self.checkout, self._warnings.append)

    @property
    def warnings(self) -> list[str]:
        """One line about the former spellings in site.toml and its bases, if there are any."""
        return self._warnings if self.site_data else []

    @cached_property
    def environment(self) -> dict[str, str]:
        """Environment variables after ``. site-configs/activate <name>``; UserError if it fails."""
        script = '. "$0" "$1" && env -0'
        activate = self.checkout / "site-configs" / "activate"
        command = ["bash", "-c", script, str(activate), self.name]
        process = subprocess.run(command, env=os.environ, capture_output=True, text=True)
        if process.returncode:
            reason = f"exit status {process.returncode}, {last_line(process.stderr)}"
            raise UserError(f"cannot activate site '{self.name}': {reason}")
        pairs = (item.split("=", 1) for item in process.stdout.split("\0") if "=" in item)
        variables = dict(pairs)
        variables.pop("RFM_TIMESTAMP_DIRS", None)  # a round's folder is unique by itself
        return variables

    @cached_property
    def _site_config(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads(
            self._run(["reframe", "--show-config"], "reframe --show-config")
        )
        return config

    @cached_property
    def system(self) -> dict[str, Any]:
        """ReFrame's configuration of this site."""
        systems: list[dict[str, Any]] = self._site_config["systems"]
        return next(system for system in systems if system["name"] == self.name)

    @cached_property
    def partitions(self) -> dict[str, dict[str, Any]]:
        """ReFrame's configuration of each partition of this site."""
        return {partition["name"]: partition for partition in self.system["partitions"]}

    @cached_property
    def toolchains(self) -> dict[str, dict[str, Any]]:
        """ReFrame's configuration of each environment meant for this site, installed or not."""
        return {
            environ["name"]: environ
            for environ in self._site_config["environments"]
            if self.name in environ.get("target_systems", [self.name])
            and environ["name"] != "builtin"
        }

    @cached_property
    def checks(self) -> dict[str, Path]:
        """The file of each check by name, from a text search: loading all takes ReFrame seconds."""
        return {
            name: file
            for file in sorted((self.checkout / "checks").rglob("*.py"))
            for name in _CHECK_CLASS_PATTERN.findall(file.read_text(encoding="utf-8"))
        }

    def list_tests(
        self,
        files: Iterable[str] = (),
        selection: TestSelection | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> CheckListing:
        """Return the tests of the check `files`, or of all, and those cases that would run here.

        `selection` restricts the tests; `variables` are values by ``check.variable``.  UserError if
        ReFrame fails, or cannot make a test, e.g. for a value of wrong type or range.
        """
        request = {"files": [*files] or self._check_files, "variables": variables or {}}
        return self._list_tests(selection, request)

    def render_job_scripts(
        self, folder: Path, cases: Sequence[Case] | None = None
    ) -> dict[Case, str]:
        """Return the job scripts that ReFrame renders in `folder` for `cases`.

        Default: one case of each check, placement, partition and MPI, because their scripts can
        differ.  UserError as in `list_tests`, or if ReFrame renders no script of a case.
        """
        request = {"files": self._check_files, "variables": {}, "folder": str(folder)}
        selection: TestSelection = "ends"  # instantiating all tests takes ReFrame seconds
        if cases is not None:
            tests = defaultdict[str, list[Mapping[str, Sequence[str]]]](list)
            for case in cases:
                tests[case.check].append({key: [value] for key, value in case.parameters})
            selection, files = tests, sorted({str(self.checks[check]) for check in tests})
            request |= {"files": files, "case_ids": [case.id for case in cases]}
        listing = self._list_tests(selection, request, {"ROUNDTRIP_RUNS": str(folder)})
        scripts = listing.scripts
        return {case: scripts[case.id] for case in listing.cases if case.id in scripts}

    @property
    def _check_files(self) -> list[str]:
        return sorted({str(file) for file in self.checks.values()})

    def _list_tests(
        self,
        selection: TestSelection | None,
        request: Mapping[str, Any],
        variables: Mapping[str, str] | None = None,
    ) -> CheckListing:
        """Return what module `listing` lists for `request`, with these environment variables."""
        command = [sys.executable, "-P", "-m", "roundtrip.sites.listing"]
        if selection:
            variables = {**test_selection_variables(selection), **(variables or {})}
        output = self._run(command, "the listing of checks", variables, json.dumps(request))
        reply = json.loads(output.splitlines()[-1])
        if "fault" in reply:
            raise UserError(*reply["fault"])
        self._site_config = reply["config"]
        tests = [
            CheckTest(**{**test, "parameters": dict(test["parameters"])}) for test in reply["tests"]
        ]
        cases = [
            Case(**{**case, "parameters": tuple(map(tuple, case["parameters"]))})
            for case in reply["cases"]
        ]
        return CheckListing(tests, cases, reply.get("scripts", {}))

    def _run(
        self,
        command: Sequence[str],
        title: str,
        variables: Mapping[str, str] | None = None,
        stdin: str = "",
    ) -> str:
        try:
            process = subprocess.run(
                command,
                cwd=self.checkout,
                env={**self.environment, **(variables or {})},
                input=stdin,
                capture_output=True,
                text=True,
            )
        except FileNotFoundError:
            raise UserError("there is no reframe in PATH; run: make setup") from None
        if process.returncode:
            reason = last_line(_COLOUR_CODE_PATTERN.sub("", process.stdout + process.stderr))
            raise UserError(f"{title} failed on site '{self.name}': {reason}")
        return process.stdout
