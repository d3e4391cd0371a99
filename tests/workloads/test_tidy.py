"""clang-tidy over all of workloads/ and testbed/link, beside the sanitizers of test_programs.

A file of its own, behind theirs, so that whichever process of pytest-xdist is free first takes it.
"""

import pytest
from support.programs import LOWEST_PRIORITY_COMMAND, run_in_checkout


@pytest.mark.nightly
def test_clang_tidy_finds_nothing() -> None:
    run_in_checkout(*LOWEST_PRIORITY_COMMAND, "make", "tidy-all")
