"""clang-tidy over all of workloads/ and testbed/link, beside the sanitizers of test_programs.

A file of its own, behind theirs, so that whichever process of pytest-xdist is free first takes it.
"""

from __future__ import annotations

import pytest
from support.programs import IDLY, run


@pytest.mark.nightly
def test_clang_tidy_finds_nothing() -> None:
    run(*IDLY, "make", "tidy-all")
