"""Lists the cases of a site's checks and renders job scripts, by ReFrame's own loader.

``python -m roundtrip.sites.listing`` runs in the environment that ``site-configs/activate`` sets.
It reads the arguments of `list_cases_and_scripts` as JSON and prints the result as the last line;
it ends with status 1 and a reason if a check does not load.  ReFrame has no other machine-readable
list of concrete cases: ``--describe`` omits where a test can run, and ``-lC`` is for people.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reframe.core import config, runtime
from reframe.core.exceptions import what
from reframe.frontend import dependencies
from reframe.frontend.executors import Runner, TestCase, generate_testcases
from reframe.frontend.executors.policies import SerialExecutionPolicy
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import import_module_from_file

from roundtrip.sites.launching import rank_start_key
from roundtrip.sites.site import Case


def list_cases_and_scripts(
    files: Sequence[str], folder: str | None = None, case_ids: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return ReFrame's configuration of the site and the cases of check `files`.

    With `folder`, also return the job scripts of the cases `case_ids`, rendered in it; default: of
    one case of each check, placement, partition and MPI, because their scripts can differ.
    ImportError names a file that does not load, and the reason.
    """
    site = config.load_config(*os.environ["RFM_CONFIG_FILES"].split(":"))
    site.validate()
    site.select_subconfig(os.environ["RFM_SYSTEM"], ignore_resolve_errors=True)
    if folder:
        site.add_sticky_option("systems/prefix", folder)
    runtime.init_runtime(site)
    test_cases = _load_cases(files, {"_rfm_dry_run": "1"} if folder else {})
    cases: dict[Case, TestCase] = {}
    for item in test_cases:
        if not item.check.is_fixture():
            check, *parameters = item.check.display_name.split(" %")
            pairs = sorted((key, value) for key, _, value in (p.partition("=") for p in parameters))
            target = (runtime.runtime().system.name, item.partition.name, item.environ.name)
            cases[Case(check, tuple(pairs), item.check.hashcode, *target)] = item
    reply = {"config": json.loads(str(site)), "cases": [asdict(case) for case in cases]}
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


def _load_cases(files: Sequence[str], variables: dict[str, str]) -> list[TestCase]:
    loader = RegressionCheckLoader(files, external_vars=variables)
    checks = []
    for file in files:
        try:
            path = str(Path(file).resolve())
            module = import_module_from_file(path, force=True, load_parents=True)
        except Exception as error:
            raise ImportError(f"{file}: a check does not load: {error}") from error
        checks += loader.load_from_module(module)
    cases: list[TestCase] = generate_testcases(checks)
    return cases


def _dry_run_job_scripts(
    cases: Mapping[str, TestCase], test_cases: Sequence[TestCase]
) -> dict[str, str]:
    """Return the job script of each of `cases`, by case id; RuntimeError names one without."""
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
        reply = list_cases_and_scripts(**json.load(sys.stdin))
    except Exception as error:
        sys.exit(str(error))
    print(json.dumps(reply))


if __name__ == "__main__":
    main()
