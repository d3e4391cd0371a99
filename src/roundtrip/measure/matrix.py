"""Builds the matrix of a campaign on a site: which cases must complete, which cannot, and why."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from roundtrip.errors import UserError
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.sites import launching
from roundtrip.sites.site import Case, CheckListing, CheckTest, Site, TestSelection


@dataclass(frozen=True)
class NodePair:
    """The two nodes of a launch in a pair round, or a single node.

    `pair_round` numbers the rounds of the whole round robin from 0, `pair_night_round` the rounds
    of one night from 1.
    """

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
    expected: dict[str, ExpectedCase] = {}
    skipped: dict[str, SkippedCase] = {}
    for plan, listing in _list_tests(campaign, site):
        cases = {case.id: case for case in listing.cases}
        tests = _selected_tests(plan, listing.tests, campaign)
        for test, partition, environ in _test_combinations(plan, tests, site, campaign):
            parameters = tuple(test.parameters.items())
            case = Case(plan.name, parameters, test.hash, site.name, partition, environ)
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
                    check_file=test.file,
                    variables=tuple(sorted(plan.variables.items())),
                    study=test.study,
                    simulated=launching.SIMULATED_FEATURE in features,
                    node_count=nodes,
                )
            else:
                reason = _skip_reason(test, site, partition, environ)
                skipped[case.id] = SkippedCase(case.id, reason)
    if not any(config["environs"] for config in site.partitions.values()):
        names = dict.fromkeys(name for plan in campaign.checks for name in plan.toolchains or ())
        build = "spack install" if site.spack_folder else " ".join(("roundtrip toolchains", *names))
        raise UserError(f"site '{site.name}' has no toolchain yet; build some: {build}")
    if not expected:
        reasons = {item.reason for item in skipped.values()} or {"it offers no toolchain"}
        why = f"nothing of this campaign can run on site '{site.name}'"
        raise UserError(f"{why}: {'; '.join(sorted(reasons))}", campaign.file)
    return Matrix(tuple(expected.values()), tuple(skipped.values()))


def _list_tests(campaign: Campaign, site: Site) -> Iterator[tuple[CheckPlan, CheckListing]]:
    """Yield each check of a campaign with the tests of a listing that has its variables; UserError
    for an unknown check, and for a value that a check refuses."""
    batches: list[list[CheckPlan]] = []  # ReFrame sets the variables of a check once
    for plan in campaign.checks:
        if plan.name not in site.checks:
            choices = ", ".join(sorted(site.checks))
            raise campaign.fault(f"unknown check '{plan.name}'; there are: {choices}", plan)
        for batch in batches:
            if all(p.name != plan.name or p.variables == plan.variables for p in batch):
                batch.append(plan)
                break
        else:
            batches.append([plan])
    for batch in batches:
        files, selection = checks_to_load(batch, site)
        try:
            listing = _list_batch(batch, site)
        except UserError:
            site.list_tests(files, selection)  # raises what is no fault of a value
            _require_variable_values(batch, campaign, site)
            raise
        if not all(_has_tests(plan, listing.tests) for plan in batch):
            listing = site.list_tests(files)  # all tests, for the list of choices in the message
        yield from ((plan, listing) for plan in batch)


def checks_to_load(plans: Sequence[CheckPlan], site: Site) -> tuple[list[str], TestSelection]:
    """Return the files of checks, for ReFrame to load, and the tests to make of them."""
    products: dict[str, list[Mapping[str, Sequence[str]]]] = defaultdict(list)
    for plan in plans:
        products[plan.name].append(plan.parameters)
    return sorted({str(site.checks[name]) for name in products}), products


def _list_batch(plans: Sequence[CheckPlan], site: Site) -> CheckListing:
    """Return the tests of `plans` with their variables; UserError for a value that is refused."""
    values = {f"{p.name}.{key}": value for p in plans for key, value in p.variables.items()}
    return site.list_tests(*checks_to_load(plans, site), values)


def _require_variable_values(plans: Sequence[CheckPlan], campaign: Campaign, site: Site) -> None:
    """UserError for the first variable whose value is refused, at the line of its check."""
    values = [(plan, *item) for plan in plans for item in plan.variables.items()]
    for plan, variable, value in values:
        try:
            _list_batch([replace(plan, variables={variable: value})], site)
        except UserError as error:
            match = re.search(r"right is .*", error.message)  # of a check's type
            reason = match[0] if match else str(error).replace("a check does not load: ", "")
            fault = f"check '{plan.name}': {variable} = {value[:60]!r}: {reason}"
            raise campaign.fault(fault, plan) from None


def _has_tests(plan: CheckPlan, tests: Sequence[CheckTest]) -> bool:
    """Whether each parameter value in `plan` is one of some test of its check."""
    parameter_sets = [test.parameters for test in tests if test.check == plan.name]
    return bool(parameter_sets) and all(
        {*values} <= {test.get(key) for test in parameter_sets}
        for key, values in plan.parameters.items()
    )


def _selected_tests(
    plan: CheckPlan, tests: Sequence[CheckTest], campaign: Campaign
) -> list[CheckTest]:
    """Return the tests with parameters that `plan` selects; UserError if none can run anywhere."""
    check_tests = [test for test in tests if test.check == plan.name]
    settable = ", ".join(check_tests[0].settable)
    for variable in plan.variables:
        if variable not in check_tests[0].variables:
            why = f"has no variable '{variable}'; right is one of: {settable}"
            raise campaign.fault(f"check '{plan.name}' {why}", plan)
        if variable not in check_tests[0].settable:
            why = f"sets '{variable}' itself, so that a value has no effect; right is one of"
            raise campaign.fault(f"check '{plan.name}' {why}: {settable}", plan)
    declared = plan.parameters.items()
    for key, values in declared:
        legal = {test.parameters[key] for test in check_tests if key in test.parameters}
        if not legal:
            names = ", ".join(sorted({name for test in check_tests for name in test.parameters}))
            why = f"has no parameter '{key}'; right is one of: {names or 'none'}"
            raise campaign.fault(f"check '{plan.name}' {why}", plan)
        if unknown := [value for value in values if value not in legal]:
            choices = ", ".join(sorted(legal))
            why = f"{key} = '{unknown[0]}' is not one of: {choices}"
            raise campaign.fault(f"check '{plan.name}': {why}", plan)
    plan_tests = [
        test
        for test in check_tests
        if all(test.parameters[key] in values for key, values in declared)
    ]
    if all(test.skip_reason for test in plan_tests):
        text = ", ".join(f"{key} = {' or '.join(values)}" for key, values in declared)
        reasons = "; ".join(dict.fromkeys(test.skip_reason for test in plan_tests))
        why = f"check '{plan.name}' has no test with {text or 'any values'}: {reasons}"
        raise campaign.fault(f"{why}: choose values that go together", plan)
    return plan_tests


def _test_combinations(
    plan: CheckPlan, tests: Sequence[CheckTest], site: Site, campaign: Campaign
) -> Iterator[tuple[CheckTest, str, str]]:
    for kind, names, entries in (
        ("partition", plan.partitions, site.partitions),
        ("toolchain", plan.toolchains, site.toolchains),
    ):
        for name in names or ():
            if name not in entries:
                why = f"unknown {kind} '{name}'; site '{site.name}' has"
                raise campaign.fault(f"{why}: {', '.join(sorted(entries))}", plan)
    yield from product(
        tests, plan.partitions or site.partitions, plan.toolchains or site.toolchains
    )


def _node_count(test: CheckTest) -> int:
    """Return the number of nodes of a launch; 0 if the partition or the check decides it."""
    if test.num_tasks is None or not test.num_tasks_per_node or "wan" in test.needs:
        return 0
    return test.num_tasks // test.num_tasks_per_node


def _skip_reason(test: CheckTest, site: Site, partition: str, environ: str) -> str:
    if test.skip_reason:
        return test.skip_reason
    config = site.partitions[partition]
    if environ not in config["environs"]:
        return f"toolchain '{environ}' is not installed on partition '{partition}'"
    toolchain = site.toolchains[environ]
    features = {*config.get("features", []), *toolchain.get("features", [])}
    if launching.SIMULATED_FEATURE in features and test.not_simulated_reason:
        return f"it is not simulated: {test.not_simulated_reason}"
    remedies = {**test.remedies, **toolchain.get("extras", {}).get("lacks", {})}
    for feature in test.needs:
        if shortage := launching.describe_shortage(feature, config.get("extras", {})):
            remedies[feature] = shortage
    gaps = [
        f"{feature} ({remedies[feature]})" if feature in remedies else feature
        for feature in test.needs
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
