"""Makes only the tests that a campaign asks for, where it says which.

ReFrame makes every test there is before it looks which are wanted, some milliseconds each.  The
environment variable ROUNDTRIP_TESTS names the wanted ones, in JSON: check -> a list of products,
each parameter -> its values as names show them; a parameter that is left out has all.  Of several
products of one check, all tests of the values that any of them names are made.  Without the
variable all tests are made.
"""

import json
import os

import reframe as rfm
from reframe.core.builtins import parameter
from reframe.core.meta import make_test

_ASKED = json.loads(os.environ.get("ROUNDTRIP_TESTS", "null"))


def simple_test(check):
    """As `rfm.simple_test`, of the asked values of the parameters of `check`."""
    if _ASKED is None:
        return rfm.simple_test(check)
    if products := _ASKED.get(check.__name__):
        fewer = {
            name: _narrowed(known, {value for product in products for value in product[name]})
            for name, known in check.raw_params.items()
            if all(name in product for product in products)
        }
        rfm.simple_test(make_test(check.__name__, (check,), fewer, module=check.__module__))
    return check


def _narrowed(known, shown):
    return parameter(
        inherit_params=True,
        filter_params=lambda values: tuple(v for v in values if f"{known.format(v)}" in shown),
        fmt=known.format,
    )
