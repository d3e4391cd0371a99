"""What a plan counts as primary claims is what reports of real launches have.

The plan knows places from parameters and variables, the report from what launches recorded.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from roundtrip import studies
from roundtrip.measure.columns import setting_texts
from roundtrip.report import data
from roundtrip.stats.verdicts import Family
from roundtrip.studies.section import section_of
from roundtrip.studies.study import PlannedCase

SAMPLES = Path(__file__).parents[2] / "samples/reports"
#: Planned claims of a sample for which no launch had the time.
UNMEASURED = {"ring": 1}


@pytest.mark.parametrize("campaign", ["smoke", "ring", "ddtbench", "wan"])
def test_the_primary_claims_of_a_sample_are_those_that_are_planned(campaign: str) -> None:
    (bundle,) = (SAMPLES / campaign).glob("*/*/r1/bundle")
    bundle_data = data.read(bundle)
    checks = tomllib.loads(bundle_data.campaign_text)["check"]
    variables = {check["name"]: check.get("variables", {}) for check in checks}
    cases = [
        PlannedCase(
            row["case_id"],
            row["study"],
            row["check"],
            f"{row['system']}:{row['partition']}",
            row["environ"],
            setting_texts(row["parameters"]),
            {name: str(value) for name, value in variables[row["check"]].items()},
        )
        for row in bundle_data.completed_launches.unique("case_id").iter_rows(named=True)
    ]
    (study,) = (studies.get(name) for name in {case.study for case in cases})
    section = section_of(study, bundle_data)
    assert section is not None
    plans = study.primary_claims(cases, bundle_data.analysis.compared_sizes(study))
    primary = [claim for claim in section.claims() if claim.family is Family.PRIMARY]
    planned = sum(plan.count for plan in plans)
    assert len(primary) + UNMEASURED.get(campaign, 0) == planned > 1
