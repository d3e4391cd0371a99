"""Prints in ``reframe -l`` the tests that a partition cannot run, and why: ReFrame omits them."""

import sys

from reframe.core import runtime

from roundtrip.sites import scales
from roundtrip.sites.scales import SIMULATED

_printed_lines = set()


def tell_if_skipped(test):
    """Print a line for each check, partition and feature that the partition lacks."""
    if not {"-l", "-L", "--list", "--list-detailed"} & set(sys.argv):
        return
    check = type(test).__name__.split("_")[0]
    for partition in runtime.runtime().system.partitions:
        gaps = [_lacking(test, partition, environ) for environ in partition.environs]
        if gaps and all(gaps):
            line = f"skipped on {partition.name}: tests of {check} {gaps[0]}"
            if line not in _printed_lines:
                _printed_lines.add(line)
                print(line)


def _lacking(test, partition, environ):
    """Return the first feature that is missing, with the reason if it is a size, or why the test is
    not simulated; None if nothing is missing."""
    features = {*partition.features, *environ.features}
    if SIMULATED in features and test.why_not_simulated:
        return f"are not simulated: {test.why_not_simulated}"
    for feature in test.needs:
        if feature not in features:
            reason = scales.shortage(feature, partition.extras)
            return f"that need {feature} ({reason})" if reason else f"that need {feature}"
    return None
