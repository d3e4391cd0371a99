"""Makes only the tests that a campaign asks for, where it says which.

ReFrame makes every test there is before it looks which are wanted, some milliseconds each.  The
environment variable ROUNDTRIP_TESTS names the wanted ones, in JSON: check -> a list of products,
each parameter -> its values as names show them; a parameter that is left out has all.  Without the
variable all tests are made.
"""

import json
import os
from functools import cache

from reframe.core import decorators

_ASKED = json.loads(os.environ.get("ROUNDTRIP_TESTS", "null"))
_register = decorators._register_test


@cache
def _variants(check):
    """The numbers of the asked variants of a check."""
    known = check.raw_params
    products = [
        {name: _shown_as(known[name], values) for name, values in product.items() if name in known}
        for product in _ASKED.get(check.__name__, [])
    ]
    return {number for product in products for number in check.get_variant_nums(**product)}


def _shown_as(parameter, values):
    return lambda value: f"{parameter.format(value)}" in values


def _register_asked(check, *arguments, **options):
    if options["variant_num"] in _variants(check):
        _register(check, *arguments, **options)


if _ASKED is not None:
    decorators._register_test = _register_asked
