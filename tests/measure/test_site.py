"""A site as ReFrame sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.sites.site import Site

CHECKOUT = Path(__file__).parents[2]


def test_a_check_that_does_not_load_is_named(tmp_path: Path) -> None:
    check_file = tmp_path / "broken.py"
    check_file.write_text("import reframe\nimport no_such_module\n")
    with pytest.raises(UserError, match="No module named 'no_such_module'") as error:
        Site("local", CHECKOUT).cases([str(check_file)])
    assert str(check_file) in str(error.value)


@pytest.mark.parametrize("name", ["nope", "../local", "", "a/b"])
def test_an_unknown_site_names_those_there_are(name: str) -> None:
    with pytest.raises(UserError, match=r"unknown site .*there are: .*local"):
        Site(name, CHECKOUT)
