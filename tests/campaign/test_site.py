"""The listing of ReFrame 4.10, read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtrip.campaign.site import Case, Site, parse_listing
from roundtrip.errors import UserError

CHECKOUT = Path(__file__).parents[2]
LISTING = """\
[List of matched checks]
- NetPIPE %placement=shared-memory %mode=pingpong /26ad4637 @local:smp+openmpi41-boost174
    ^build_workload ~local:smp+openmpi41-boost174 'build /3f779230 @local:smp+openmpi41-boost174
- Plain /0123abcd @local:smp+mpich40-boost181
Concretized 4 test case(s)
"""


def test_cases_are_read_and_fixtures_left_out() -> None:
    first, second = parse_listing(LISTING)
    assert first == Case(
        "NetPIPE",
        (("mode", "pingpong"), ("placement", "shared-memory")),
        "26ad4637",
        "local",
        "smp",
        "openmpi41-boost174",
    )
    assert first.id == (
        "NetPIPE/mode=pingpong,placement=shared-memory@local:smp+openmpi41-boost174"
    )
    assert second.id == "Plain/@local:smp+mpich40-boost181"


def test_colour_codes_do_not_hide_cases() -> None:
    assert len(parse_listing(LISTING.replace("- ", "\x1b[0m- "))) == 2


@pytest.mark.parametrize("name", ["nope", "../local", "", "a/b"])
def test_an_unknown_site_names_those_there_are(name: str) -> None:
    with pytest.raises(UserError, match=r"unknown site .*there are: .*local"):
        Site(name, CHECKOUT)
