"""Lists the tests and cases of a site's checks and renders job scripts, by ReFrame's own loader.

``python -m roundtrip.sites.listing`` runs in the environment that ``site-configs/activate`` sets.
It reads the arguments of `list_tests` as JSON and prints the result as the last line, or `fault`
with the arguments of a UserError.  ReFrame has no other machine-readable list: ``--describe`` omits
where a test can run, and ``-lC`` is for people; both omit tests that skip themselves or fail.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from reframe.core import config, runtime
from reframe.core.exceptions import SkipTestError, WarningAsError, what
from reframe.core.logging import VERBOSE, Logger, getlogger
from reframe.frontend import dependencies
from reframe.frontend.executors import Runner, TestCase, generate_testcases
from reframe.frontend.executors.policies import SerialExecutionPolicy
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import import_module_from_file

from roundtrip.errors import UserError
from roundtrip.sites.launching import rank_start_key
from roundtrip.sites.site import Case, CheckTest


def list_tests(
    files: Sequence[str],
    variables: Mapping[str, str],
    folder: str | None = None,
    case_ids: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return ReFrame's configuration of the site, and the tests and cases of check `files`.

    `variables` are values by ``check.variable``.  With `folder`, also return the job scripts of the
    cases `case_ids`, rendered in it; default: of one case of each check, placement, partition and
    MPI, because their scripts can differ.  UserError if a check or a test cannot be loaded.
    """
    site = config.load_config(*os.environ["RFM_CONFIG_FILES"].split(":"))
    site.validate()
    site.select_subconfig(os.environ["RFM_SYSTEM"], ignore_resolve_errors=True)
    if folder:
        site.add_sticky_option("systems/prefix", folder)
    runtime.init_runtime(site)
    checks, skipped_tests = _load_checks(
        files, {**variables, **({"_rfm_dry_run": "1"} if folder else {})}
    )
    test_cases: list[TestCase] = generate_testcases(checks)
    cases: dict[Case, TestCase] = {}
    for item in test_cases:
        if not item.check.is_fixture():
            check, parameters = _split_name(item.check)
            target = (runtime.runtime().system.name, item.partition.name, item.environ.name)
            cases[Case(check, parameters, item.check.hashcode, *target)] = item
    tests = [_describe_test(check) for check in checks if not check.is_fixture()]
    reply: dict[str, Any] = {"config": json.loads(str(site)), "tests": [*tests, *skipped_tests]}
    reply["cases"] = [asdict(case) for case in cases]
    if folder:
        selection: dict[object, Case] = {}
        for case in sorted(cases, key=lambda case: case.id):
            if case_ids is None:
                placement = dict(case.parameters).get("placement", "")
                start = rank_start_key(cases[case].environ.extras)
                selection.setdefault((case.check, placement, case.partition, start), case)
            elif case.id in case_ids:
                selection[case.id] = case
        cases_by_name = {case.id: cases[case] for case in selection.values()}
        reply["scripts"] = _dry_run_job_scripts(cases_by_name, test_cases)
    return reply


class _SkipHandler(logging.Handler):
    """Describes the tests that skip themselves when made, which ReFrame only logs."""

    def __init__(self) -> None:
        super().__init__()
        self.tests: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]  # ReFrame logs it where it catches it
        if isinstance(error, SkipTestError):
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            test = next(f.f_locals["self"] for f in reversed(frames) if "self" in f.f_locals)
            reasons = filter(None, error.args)
            reason = next(reasons, "the check skips itself, and says no reason")
            self.tests.append(_describe_test(test, reason))


def _load_checks(
    files: Sequence[str], variables: Mapping[str, str]
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the tests that ReFrame makes, with their fixtures, and those that skip themselves."""
    loader = RegressionCheckLoader(files, external_vars=variables)
    handler, log = _SkipHandler(), getlogger()
    log.logger = Logger("loader", VERBOSE)
    log.logger.addHandler(handler)
    log.warn_as_error = True  # ReFrame would go on without the test
    checks = []
    for file in files:
        try:
            path = str(Path(file).resolve())
            module = import_module_from_file(path, force=True, load_parents=True)
            checks += loader.load_from_module(module)
        except Exception as error:
            raise _load_fault(error, Path(file)) from error
    log.logger, log.warn_as_error = None, False
    return checks, handler.tests


def _load_fault(error: Exception, file: Path) -> UserError:
    """Return a UserError for what a check raised, at the line of the check."""
    cause = (isinstance(error, WarningAsError) and error.__context__) or error
    words = str(error).partition(" (rerun with")[0].partition("\n")[0]
    words = words.removeprefix("skipping ").rstrip(": ")
    if isinstance(cause, SyntaxError):
        return UserError(f"a check does not load: {cause.msg}", cause.filename, cause.lineno)
    folder = file.resolve().parent
    lines = [
        (Path(frame.filename), frame.lineno)
        for frame in traceback.extract_tb(cause.__traceback__)
        if Path(frame.filename).is_relative_to(folder)
    ]
    return UserError(f"a check does not load: {words}", *(lines[-1] if lines else (file,)))


def _split_name(check: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the name of a test's class, and its parameters, sorted by name."""
    name, *parameters = check.display_name.split(" %")
    pairs = ((key, value) for key, _, value in (item.partition("=") for item in parameters))
    return name, tuple(sorted(pairs))


def _describe_test(check: Any, skip_reason: str = "") -> dict[str, Any]:
    """Return the fields of a `CheckTest`; those that the test has not set are omitted."""
    name, parameters = _split_name(check)
    variables = sorted(type(check).var_space)
    known = {
        "check": name,
        "parameters": parameters,
        "file": inspect.getfile(type(check)),
        "hash": check.hashcode,
        "variables": variables,
        "settable": getattr(check, "settable", None) or variables,
        "skip_reason": skip_reason,
    }
    others = [field.name for field in fields(CheckTest) if field.name not in known]
    return known | {key: getattr(check, key) for key in others if hasattr(check, key)}


def _dry_run_job_scripts(
    cases: Mapping[str, TestCase], test_cases: Sequence[TestCase]
) -> dict[str, str]:
    """Return the job script of each of `cases`, by case id; RuntimeError if one has none."""
    graph, _ = dependencies.build_deps(test_cases)
    policy = SerialExecutionPolicy()
    policy.dry_run_mode = policy.keep_stage_files = True
    policy.skip_sanity_check = policy.skip_performance_check = True
    runner = Runner(policy)
    subgraph = dependencies.prune_deps(graph, list(cases.values()))
    runner.runall(dependencies.toposort(subgraph))
    tasks = [task for task in runner.stats.tasks() if task.exc_info[0]]
    reasons = {task.testcase: what(*task.exc_info) for task in tasks}
    scripts = {}
    for case_id, case in cases.items():
        file = Path(str(case.check.stagedir), "rfm_job.sh")
        if not file.is_file():
            reason = reasons.get(case) or "; ".join(reasons.values())
            raise RuntimeError(f"ReFrame rendered no job script for {case_id}: {reason}")
        scripts[case_id] = file.read_text()
    return scripts


def main() -> None:
    """Print the result for the arguments on standard input; exit with status 1 if that fails."""
    try:
        reply = list_tests(**json.load(sys.stdin))
    except UserError as error:
        reply = {"fault": [error.message, error.file, error.line]}
    except Exception as error:
        sys.exit(str(error))
    print(json.dumps(reply))


if __name__ == "__main__":
    main()
