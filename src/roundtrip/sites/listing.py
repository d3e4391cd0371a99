"""What ReFrame makes of the checks of a site, by its own loader: its cases, and job scripts.

``python -m roundtrip.sites.listing`` runs in the environment that ``site-configs/activate`` sets.
It reads the arguments of `answer` in JSON, prints the answer in one line, the last, and ends with
status 1 and a reason if a check does not load.  ReFrame has no other list of concrete cases for a
program: ``--describe`` leaves out where a test can run, and ``-lC`` is for people.
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

from roundtrip.sites.launchers import start_key
from roundtrip.sites.site import Case


def answer(
    files: Sequence[str], folder: str | None = None, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """ReFrame's configuration of the site, and the cases of check `files`.

    With a `folder`, also the job scripts of the cases `names`, which are rendered in it; by default
    of one case of each check, placement, partition and MPI, because their scripts can differ.
    ImportError names a file that does not load, and why.
    """
    site = config.load_config(*os.environ["RFM_CONFIG_FILES"].split(":"))
    site.validate()
    site.select_subconfig(os.environ["RFM_SYSTEM"], ignore_resolve_errors=True)
    if folder:
        site.add_sticky_option("systems/prefix", folder)
    runtime.init_runtime(site)
    known = _load(files, {"_rfm_dry_run": "1"} if folder else {})
    cases = {_case(one): one for one in known if not one.check.is_fixture()}
    found = {"config": json.loads(str(site)), "cases": [asdict(case) for case in cases]}
    if folder:
        chosen: dict[object, Case] = {}
        for case in sorted(cases, key=lambda case: case.id):
            if names is None:
                chosen.setdefault(_kind(case, cases[case]), case)
            elif case.id in names:
                chosen[case.id] = case
        found["scripts"] = _scripts({case.id: cases[case] for case in chosen.values()}, known)
    return found


def _load(files: Sequence[str], variables: dict[str, str]) -> list[TestCase]:
    loader = RegressionCheckLoader(files, external_vars=variables)
    checks = []
    for file in files:
        try:
            module = import_module_from_file(
                str(Path(file).resolve()), force=True, load_parents=True
            )
        except Exception as error:
            raise ImportError(f"{file}: a check does not load: {error}") from error
        checks += loader.load_from_module(module)
    cases: list[TestCase] = generate_testcases(checks)
    return cases


def _case(one: TestCase) -> Case:
    check, *parameters = one.check.display_name.split(" %")
    pairs = sorted((key, value) for key, _, value in (item.partition("=") for item in parameters))
    place = (runtime.runtime().system.name, one.partition.name, one.environ.name)
    return Case(check, tuple(pairs), one.check.hashcode, *place)


def _kind(case: Case, one: TestCase) -> tuple[object, ...]:
    placement = dict(case.parameters).get("placement", "")
    return (case.check, placement, case.partition, *start_key(one.environ.extras))


def _scripts(chosen: Mapping[str, TestCase], known: Sequence[TestCase]) -> dict[str, str]:
    """The job script that ReFrame's dry run writes for each of the `chosen` cases.

    RuntimeError names a case without one, and why.
    """
    graph, _ = dependencies.build_deps(known)
    policy = SerialExecutionPolicy()
    policy.dry_run_mode = policy.keep_stage_files = True
    policy.skip_sanity_check = policy.skip_performance_check = True
    runner = Runner(policy)
    wanted = dependencies.prune_deps(graph, list(chosen.values()))
    runner.runall(dependencies.toposort(wanted))
    tasks = [task for task in runner.stats.tasks() if task.exc_info[0]]
    whys = {task.testcase: what(*task.exc_info) for task in tasks}
    scripts = {}
    for name, case in chosen.items():
        file = Path(str(case.check.stagedir), "rfm_job.sh")
        if not file.is_file():
            why = whys.get(case) or "; ".join(whys.values())
            raise RuntimeError(f"ReFrame rendered no job script for {name}: {why}")
        scripts[name] = file.read_text()
    return scripts


def main() -> None:
    """Answer what standard input asks; what is at fault and why, with status 1."""
    try:
        found = answer(**json.load(sys.stdin))
    except Exception as error:
        sys.exit(str(error))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
