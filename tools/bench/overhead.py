"""What the framework adds: wall time of the newest `smoke` run over the run time of its jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from roundtrip import paths
from roundtrip.collect.launches import scan
from roundtrip.errors import UserError


def measure() -> Iterator[str]:
    """Wall time of the rounds, without builds, over the sum of the launches' job times.

    The time of a job includes its launcher, as ReFrame recorded it.  UserError if there is no run
    of `smoke`, or none of its launches completed.
    """
    trees = sorted((paths.runs() / "smoke").glob("*/*/state.json"))
    if not trees:
        raise UserError("no run of campaign smoke yet; run: make campaign")
    tree = trees[-1].parent
    launches = [launch for launch in scan(tree) if launch.status == "passed"]
    wall = jobs = measured = 0.0
    for report in sorted(tree.glob("rounds/*/report.json")):
        data = json.loads(report.read_text())
        wall += json.loads(report.with_name("session.json").read_text())["wall_s"]
        for run in data["runs"]:
            for test in run["testcases"]:
                if test.get("fixture"):
                    wall -= (test["time_setup"] or 0.0) + (test["time_compile"] or 0.0)
                else:
                    jobs += test["time_run"] or 0.0
    measured = sum(launch.run["elapsed_s"] for launch in launches)
    if not jobs:
        raise UserError("the newest run of smoke has no launches", tree)
    yield (
        f"{len(launches)} launches: {wall:.1f} s of sessions without builds, {jobs:.1f} s of jobs "
        f"({measured:.1f} s inside the workload); ratio {wall / jobs:.3f}"
    )
