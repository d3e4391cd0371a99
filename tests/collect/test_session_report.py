"""What ReFrame says of a command that failed becomes one line with the command's own words."""

from __future__ import annotations

import pytest
from reframe.core.exceptions import SpawnedProcessError

from roundtrip.collect import completion

LIMIT = """sbatch: error: QOSMaxSubmitJobPerUserLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)
"""


@pytest.mark.parametrize(
    ("out", "error", "told"),
    [
        ("", LIMIT, "sbatch: error: Batch job submission failed: Job violates"),
        ("", "", "it said nothing"),
        ("only this\n", "", "only this"),
    ],
)
def test_the_words_of_a_command_that_failed(out: str, error: str, told: str) -> None:
    reason = f"spawned process error: {SpawnedProcessError('sbatch rfm_job.sh', out, error, 1)}"
    read = completion.TestCase.from_entry({"fail_reason": reason})
    assert read.fail_reason.startswith(
        "spawned process error: command 'sbatch rfm_job.sh' failed with exit code 1: " + told
    )


def test_of_other_reasons_the_first_line_is_kept() -> None:
    read = completion.TestCase.from_entry({"fail_reason": "sanity error: no end marker\nmore\n"})
    assert read.fail_reason == "sanity error: no end marker"
