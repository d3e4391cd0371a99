"""Instantiates only the tests that a campaign requests.

ReFrame instantiates all tests before it selects some, which takes milliseconds for each.  The
environment variable ROUNDTRIP_TESTS names the requested tests, in JSON: check -> a list of
products, each parameter -> its values as in test names; an omitted parameter has all its values.
Several products of one check are merged into one product of all their values.  The word "ends"
requests the first and the last value of each parameter except the placement, for a site check,
which needs one test of each kind.  Without the variable, all tests are instantiated.
"""

import json
import os

import reframe as rfm
from reframe.core.builtins import parameter
from reframe.core.meta import make_test

_REQUESTED_TESTS = json.loads(os.environ.get("ROUNDTRIP_TESTS", "null"))


def simple_test(check):
    """Register `check` as `rfm.simple_test` does, but only for its requested parameter values."""
    if _REQUESTED_TESTS is None:
        return rfm.simple_test(check)
    parameters = (
        _first_and_last_values(check) if _REQUESTED_TESTS == "ends" else _requested_products(check)
    )
    if parameters is not None:
        rfm.simple_test(make_test(check.__name__, (check,), parameters, module=check.__module__))
    return check


def _first_and_last_values(check):
    return {
        name: _restrict_parameter(raw_param, lambda values: dict.fromkeys((values[0], values[-1])))
        for name, raw_param in check.raw_params.items()
        if name != "placement"
    }


def _requested_products(check):
    """Return the requested values of parameters that all products name; None without a request."""
    products = _REQUESTED_TESTS.get(check.__name__)
    if not products:
        return None
    value_sets = {
        name: {value for product in products for value in product[name]}
        for name in check.raw_params
        if all(name in product for product in products)
    }
    return {
        name: _restrict_parameter_to_texts(check.raw_params[name], values)
        for name, values in value_sets.items()
    }


def _restrict_parameter_to_texts(raw_param, texts):
    return _restrict_parameter(
        raw_param, lambda values: (v for v in values if f"{raw_param.format(v)}" in texts)
    )


def _restrict_parameter(raw_param, select):
    return parameter(
        inherit_params=True,
        # A parameter without values would make the check abstract, which hides the legal values.
        filter_params=lambda values: tuple(select(values)) or values,
        fmt=raw_param.format,
    )
