"""Builds the matrix of a campaign on a site: which cases must complete, which cannot run, and
why."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from roundtrip.errors import UserError
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.sites import launching
from roundtrip.sites.site import Case, Site, TestSelection

#: ReFrame's description of a test.
_TestDescription = dict[str, Any]


@dataclass(frozen=True)
class NodePair:
    """The two nodes, or single node, of a launch in a pair round; `pair_round` numbers the rounds
    of the whole round robin from 0, `pair_night_round` those of a night from 1."""

    pair_round: int
    pair_night_round: int
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class SkippedCase:
    """A case that the campaign declares and the site cannot run, and why."""

    case_id: str
    reason: str


@dataclass(frozen=True)
class ExpectedCase:
    """A case that must complete, with the file and the study of its check.

    `variables` are set in the check.  `simulated`: its values come from a simulator.  `node_count`
    is that of a launch, 0 if the partition or the check decides it.  `pairs` are the nodes of its
    launches, each in turn, `nodelist` the nodes of every launch; () if the scheduler chooses.
    """

    case: Case
    check_file: str
    variables: tuple[tuple[str, str], ...]
    study: str = ""
    simulated: bool = False
    node_count: int = 0
    pairs: tuple[NodePair, ...] = ()
    nodelist: tuple[str, ...] = ()

    @property
    def launch_key(self) -> tuple[str, tuple[str, ...]]:
        """The case id, and the nodes if there is exactly one node pair, else ()."""
        return self.case.id, self.pairs[0].hosts if len(self.pairs) == 1 else ()

    def launch_count(self, per_pair: int) -> int:
        """Return the number of launches of the case: `per_pair` for each node pair, or in all."""
        return per_pair * max(1, len(self.pairs))


@dataclass(frozen=True)
class Matrix:
    """The cases to run and those to skip; no case is in both, or twice in one."""

    expected: tuple[ExpectedCase, ...]
    skipped: tuple[SkippedCase, ...]


def build_matrix(campaign: Campaign, site: Site) -> Matrix:
    """Return all declared cases: those that ReFrame lists on the site, and those to skip.

    UserError for a check, parameter, variable, partition or toolchain that does not exist, for a
    check without a test of its declared values, for a case that is declared twice, and for a
    campaign without a case that can run on the site.
    """
    files, selection = checks_to_load(campaign, site)
    cases = {case.id: case for case in site.cases(files, selection)}
    tests = site.describe(files, selection)
    if not all(_has_tests(plan, tests) for plan in campaign.checks):
        tests = site.describe(files)  # all tests, for the list of choices in the message
    if not tests:
        names = dict.fromkeys(name for plan in campaign.checks for name in plan.toolchains or ())
        build = "spack install" if site.spack_folder else " ".join(["roundtrip toolchains", *names])
        raise UserError(f"site '{site.name}' has no toolchain yet; build some: {build}")
    _require_variable_values(campaign, site, tests)
    expected: dict[str, ExpectedCase] = {}
    skipped: dict[str, SkippedCase] = {}
    for plan in campaign.checks:
        plan_tests = _selected_tests(plan, tests, campaign)
        for test, partition, environ in _test_combinations(plan, plan_tests, site, campaign):
            parameters = tuple(_parameters(test).items())
            case = Case(plan.name, parameters, test["hashcode"], site.name, partition, environ)
            if case.id in expected:
                raise campaign.fault(f"case {case.id} is declared twice", plan)
            if case.id in cases:
                nodes = _node_count(test)
                if campaign.is_round_robin and nodes not in (1, 2):
                    why = 'runs on other than one or two nodes: nodes = "all" is for these'
                    raise campaign.fault(f"check '{plan.name}' {why}", plan)
                features = site.toolchains[environ].get("features", [])
                expected[case.id] = ExpectedCase(
                    cases[case.id],
                    check_file=test["@file"],
                    variables=tuple(sorted(plan.variables.items())),
                    study=str(test.get("study", "")),
                    simulated=launching.SIMULATED_FEATURE in features,
                    node_count=nodes,
                )
            else:
                reason = _skip_reason(test, site, partition, environ)
                skipped[case.id] = SkippedCase(case.id, reason)
        for case in _untested_cases(plan, plan_tests, site):
            # It skips itself, and ReFrame drops it.
            reason = "the check has no test of these values"
            skipped[case.id] = SkippedCase(case.id, reason)
    if not expected:
        reasons = {item.reason for item in skipped.values()} or {"it offers no toolchain"}
        why = f"nothing of this campaign can run on site '{site.name}'"
        raise UserError(f"{why}: {'; '.join(sorted(reasons))}", campaign.file)
    return Matrix(tuple(expected.values()), tuple(skipped.values()))


def checks_to_load(campaign: Campaign, site: Site) -> tuple[list[str], TestSelection]:
    """Return the files of a campaign's checks, for ReFrame to load, and the tests to create in
    them; UserError for an unknown check."""
    checks = site.checks
    products: dict[str, list[Mapping[str, Sequence[str]]]] = defaultdict(list)
    for plan in campaign.checks:
        if plan.name not in checks:
            choices = ", ".join(sorted(checks))
            raise campaign.fault(f"unknown check '{plan.name}'; there are: {choices}", plan)
        products[plan.name].append(plan.parameters)
    return sorted({str(checks[name]) for name in products}), products


def _has_tests(plan: CheckPlan, tests: list[_TestDescription]) -> bool:
    """Whether each parameter value in `plan` is one of some test of its check."""
    parameter_sets = [_parameters(test) for test in tests if test["@class"] == plan.name]
    return bool(parameter_sets) and all(
        {*values} <= {test.get(key) for test in parameter_sets}
        for key, values in plan.parameters.items()
    )


def _selected_tests(
    plan: CheckPlan, tests: list[_TestDescription], campaign: Campaign
) -> list[_TestDescription]:
    """Return the tests with parameters that `plan` selects; UserError if there is none."""
    check_tests = [test for test in tests if test["@class"] == plan.name]
    settable = check_tests[0].get("settable", check_tests[0])
    for variable in plan.variables:
        if variable not in check_tests[0]:
            raise campaign.fault(f"check '{plan.name}' has no variable '{variable}'", plan)
        if variable not in settable:
            why = f"sets '{variable}' itself, so that a value has no effect; right is one of"
            raise campaign.fault(f"check '{plan.name}' {why}: {', '.join(settable)}", plan)
    for key, values in plan.parameters.items():
        legal = {_parameters(test).get(key) for test in check_tests}
        if unknown := [value for value in values if value not in legal]:
            choices = ", ".join(sorted(value for value in legal if value)) or "no such parameter"
            why = f"{key} = '{unknown[0]}' is not one of: {choices}"
            raise campaign.fault(f"check '{plan.name}': {why}", plan)
    declared = plan.parameters.items()
    plan_tests = [
        test
        for test in check_tests
        if all(_parameters(test)[key] in values for key, values in declared)
    ]
    if not plan_tests:
        text = ", ".join(f"{key} = {' or '.join(values)}" for key, values in declared)
        why = f"check '{plan.name}' has no test with {text}: choose values that go together"
        raise campaign.fault(why, plan)
    return plan_tests


def _untested_cases(
    plan: CheckPlan, plan_tests: list[_TestDescription], site: Site
) -> Iterator[Case]:
    """Yield a case, with only the declared parameters and without hash, for each combination of
    declared values that has no test."""
    keys = sorted(plan.parameters)
    tested = {tuple(_parameters(test)[key] for key in keys) for test in plan_tests}
    for values in product(*(plan.parameters[key] for key in keys)):
        if values not in tested:
            parameters = tuple(zip(keys, values, strict=True))
            for partition, environ in _partitions_and_toolchains(plan, site):
                yield Case(plan.name, parameters, "", site.name, partition, environ)


def _partitions_and_toolchains(plan: CheckPlan, site: Site) -> Iterator[tuple[str, str]]:
    return product(plan.partitions or site.partitions, plan.toolchains or site.toolchains)


def _require_variable_values(campaign: Campaign, site: Site, tests: list[_TestDescription]) -> None:
    """Run ReFrame to try the variables of all checks; UserError for a value that it refuses."""
    test_by_check = {test["@class"]: test for test in tests}
    counts: Counter[str] = Counter()
    batches: dict[int, list[CheckPlan]] = defaultdict(list)  # each has a check once
    for plan in campaign.checks:
        # `_selected_tests` reports a missing variable.
        if plan.variables and plan.variables.keys() <= test_by_check.get(plan.name, {}).keys():
            batches[counts[plan.name]].append(plan)
            counts[plan.name] += 1
    for batch in batches.values():
        try:
            _try_variables(batch, site, test_by_check)
        except UserError:
            values = [(plan, *item) for plan in batch for item in plan.variables.items()]
            for plan, variable, value in values:
                try:
                    single = replace(plan, variables={variable: value})
                    _try_variables([single], site, test_by_check)
                except UserError as error:
                    match = re.search(r"right is .*", error.message)  # of a check's type
                    reason = match[0] if match else error.message
                    fault = f"check '{plan.name}': {variable} = {value[:60]!r}: {reason}"
                    raise campaign.fault(fault, plan) from None
            raise


def _try_variables(
    batch: Sequence[CheckPlan], site: Site, test_by_check: Mapping[str, _TestDescription]
) -> None:
    """Run ReFrame with the variables of `batch`, one test per check; UserError if it refuses
    one."""
    tests = [test_by_check[plan.name] for plan in batch]
    files = sorted({str(test["@file"]) for test in tests})
    selection = {
        test["@class"]: [{key: [value] for key, value in _parameters(test).items()}]
        for test in tests
    }
    values = {f"{p.name}.{key}": value for p in batch for key, value in p.variables.items()}
    site.describe(files, selection, values)


def _test_combinations(
    plan: CheckPlan, tests: list[_TestDescription], site: Site, campaign: Campaign
) -> Iterator[tuple[_TestDescription, str, str]]:
    for kind, names, entries in (
        ("partition", plan.partitions, site.partitions),
        ("toolchain", plan.toolchains, site.toolchains),
    ):
        for name in names or ():
            if name not in entries:
                why = f"unknown {kind} '{name}'; site '{site.name}' has"
                raise campaign.fault(f"{why}: {', '.join(sorted(entries))}", plan)
    for test in tests:
        for partition, environ in _partitions_and_toolchains(plan, site):
            yield test, partition, environ


def _parameters(test: _TestDescription) -> dict[str, str]:
    """Return the parameters of a test by name, sorted."""
    items = (item.partition("=") for item in test["display_name"].split(" %")[1:])
    return dict(sorted((key, value) for key, _, value in items))


def _node_count(test: _TestDescription) -> int:
    """Return the number of nodes of a launch; 0 if the partition or the check decides it."""
    tasks, per_node = test.get("num_tasks"), test.get("num_tasks_per_node")
    if not isinstance(tasks, int) or not per_node or "wan" in test.get("needs", []):
        return 0
    return tasks // int(per_node)


def _skip_reason(test: _TestDescription, site: Site, partition: str, environ: str) -> str:
    config = site.partitions[partition]
    if environ not in config["environs"]:
        return f"toolchain '{environ}' is not installed on partition '{partition}'"
    toolchain = site.toolchains[environ]
    features = {*config.get("features", []), *toolchain.get("features", [])}
    if launching.SIMULATED_FEATURE in features and (reason := test.get("not_simulated_reason")):
        return f"it is not simulated: {reason}"
    remedies = {**test.get("remedies", {}), **toolchain.get("extras", {}).get("lacks", {})}
    for feature in test.get("needs", []):
        if shortage := launching.describe_shortage(feature, config.get("extras", {})):
            remedies[feature] = shortage
    gaps = [
        f"{feature} ({remedies[feature]})" if feature in remedies else feature
        for feature in test.get("needs", [])
        if feature not in features
    ]
    if gaps:
        return f"partition '{partition}' with '{environ}' does not offer: {', '.join(gaps)}"
    return "ReFrame does not list it on this site"


def shared_matrix(plan: Matrix, campaign: Campaign) -> Matrix:
    """Return `plan` with only the cases that both of its toolchains can run; the others are
    skipped. UserError if there is none, or for a simulated case."""
    if simulation := next((item for item in plan.expected if item.simulated), None):
        raise UserError(
            f"site '{simulation.case.system}' simulates: it gives the same values each time, so "
            "there is nothing to repeat until two differ; a campaign runs both"
        )
    groups: dict[tuple[object, ...], list[ExpectedCase]] = {}
    for item in plan.expected:
        case = item.case
        groups.setdefault((case.check, case.parameters, case.partition), []).append(item)
    shared_items = [item for items in groups.values() if len(items) == 2 for item in items]
    single_cases = [item.case for items in groups.values() if len(items) < 2 for item in items]
    reason = "the other toolchain cannot run it: nothing to compare it with"
    skipped = (*plan.skipped, *(SkippedCase(case.id, reason) for case in single_cases))
    if not shared_items:
        reasons = "; ".join(sorted({item.reason for item in plan.skipped})) or reason
        raise UserError(f"no case that both toolchains can run: {reasons}", campaign.file)
    return Matrix(tuple(shared_items), skipped)
