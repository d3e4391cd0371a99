"""The JSON that commands print: a model for each, from which its JSON Schema is generated.

`schema` in an answer is the version of its form: it grows when a key is removed or changes its
meaning, not when a key is added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Interval = Annotated[tuple[float, float], Field(description="both ends of an interval")]


class OutputObject(BaseModel):
    """An object of an answer; it has all keys that are named here."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,
        json_schema_serialization_defaults_required=True,
    )


def required(description: str) -> Any:
    """Return the field for a key that is always present."""
    return Field(description=description)


def optional(description: str) -> Any:
    """Return the field for a key that may be null."""
    return Field(None, description=description)


class Change(OutputObject):
    """A recorded fact that differs between two nights."""

    subject: str = required("the environment it is of, empty for the site or for nodes")
    name: str = required("the fact")
    before: str = required("its value before")
    after: str = required("its value since")
    nodes: tuple[str, ...] = required("pseudonyms of the nodes it is of")


class Step(OutputObject):
    """A change point of a series."""

    night: str = required("the first night after it")
    ratio: float = required("the level after over the level before")
    low: float = required("lower end of the interval of the ratio")
    high: float = required("its upper end")
    evidence: float = required("evidence with the sign of the change")
    threshold: float = required("what the evidence exceeds")
    nights: int = required("nights of the level since")


class Incident(OutputObject):
    """Consecutive nights off the level of a series, which then returned to it."""

    first: str = required("the first night")
    last: str = required("the last night")
    ratio: float = required("their values over the level")


class Revision(OutputObject):
    """A change point that was reported, and is now seen elsewhere or not at all."""

    reported: str = required("the night that was reported")
    ratio: float = required("the ratio that was reported")
    now: str | None = optional("the night where it is now, null if it is withdrawn")
    why: str = required("why it is withdrawn")


class Shares(OutputObject):
    """How often a series is in the worse of two modes."""

    nights: int = required("newest nights that are counted")
    before: float = required("share of the worse mode in the nights before, of 1")
    after: float = required("share in the newest nights")
    ratio: float = required("the higher mode over the lower")


class Newest(OutputObject):
    """The newest night against what the nights before predict."""

    ratio: float = required("the newest value over the level")
    low: float = required("lower end of what one night may show")
    high: float = required("its upper end")
    is_outside: bool = required("whether the newest value lies outside")


class Accepted(OutputObject):
    """An annotation that accepts a level as baseline."""

    up_to: str = required("the last day or second that it covers")
    reason: str = required("what a person said")


class Control(OutputObject):
    """A series that did not change, launched again beside another."""

    series: str = required("its name")
    beyond: int | None = optional("its launches that lie beyond the level")
    launches: int | None = optional("its launches")


class Confirmation(OutputObject):
    """What was launched again because it was worse."""

    verdict: str = required("confirmed, not confirmed, or why it is open")
    why_not: str = required("why nothing was launched again")
    beyond: int = required("launches that lie beyond the level")
    launches: int = required("launches of the series")
    on_other_nodes: int = required("launches on other nodes than the night's")
    control: Control | None = optional("the control")


class SeriesHistory(OutputObject):
    """A series of medians over nights, and its verdict."""

    campaign: str = required("the campaign")
    nights: int = required("nights of the campaign on the site")
    case_id: str = required("the case: check, parameters, partition and toolchain")
    study: str = required("the study")
    case: str = required("what was measured, as in the samples")
    variant: str = required("the variant")
    size_bytes: int = required("size of a message in bytes, 0 without one")
    phase: str = required("the phase in samples.csv: measure, total, compute, ...")
    metric: str = required("the quantity")
    unit: str = required("its unit")
    mark: str = required("that it is emulated or simulated, else empty")
    verdict: str = required("regressed, improved, unchanged, worse last night, too few nights, ...")
    is_news: bool = required("whether that happened lately")
    since: str | None = optional("the night since when")
    ratio: float | None = optional("the level since over the level before")
    interval: Interval | None = optional("of the ratio")
    drift_a_year: float | None = optional("factor in a year, of a series that drifts")
    changes: tuple[Change, ...] = required("recorded facts that differ there")
    would_have_seen: float | None = optional(
        "the least step, of 1, that as many nights as `sight_nights` would show"
    )
    alarm: bool = required("whether it makes the exit status 1")
    shares_of_modes: Shares | None = optional("of a series with two modes")
    newest: Newest | None = optional("the newest night alone")
    steps: tuple[Step, ...] = required("every change point")
    incidents: tuple[Incident, ...] = required("every incident")
    revisions: tuple[Revision, ...] = required("every revision")
    revised: tuple[str, ...] = required("the revisions since the night before, in words")
    minimum_effect: float | None = optional("the least effect that is a verdict, of 1")
    accepted: Accepted | None = optional("the annotation that accepts the level")
    confirmation: Confirmation | None = optional("what was launched again")
    why: str = required("why there is no verdict")


class History(OutputObject):
    """`roundtrip history --json`."""

    version: Literal[2] = Field(2, alias="schema", description="version of this form")
    site: str = required("the site")
    series: tuple[SeriesHistory, ...] = required("every series that was asked for")
    signatures: Mapping[str, tuple[str, ...]] = required("who signed the nights, by campaign")


class Case(OutputObject):
    """A case of a comparison."""

    study: str = required("the study")
    check: str = required("the check")
    parameters: str = required("its parameters")
    kind: str = required("that it is emulated or simulated, else empty")
    site: str = required("the site")
    partition: str = required("the partition")
    toolchain: str = required("the toolchain")


class Quantity(OutputObject):
    """A number with its interval, as it was computed."""

    median: float = required("the median")
    low: float | None = optional("lower end of its interval")
    high: float | None = optional("its upper end")
    level: float | None = optional("confidence level of the interval")
    n: int | None = optional("launches or rounds")
    unit: str = required("its unit")
    direction: str = required("lower or higher is better; empty if neither is")
    label: str = required("measured, or what is emulated or simulated")


class MeasuredCase(Case, Quantity):
    """A case with its median."""


class Ratio(Quantity):
    """Speed of the new side over the base; only a claim has an interval, p and q."""

    p: float | None = optional("p of no difference")
    q: float | None = optional("p, corrected for all series")


class ComparedSeries(OutputObject):
    """A value that both sides have."""

    what: str = required("the value")
    size_bytes: int | None = optional("size of a message in bytes")
    unit: str = required("unit of the medians, from which the ratio of speeds is formed")
    base: MeasuredCase = required("the side that is compared with")
    new: MeasuredCase = required("the side that is compared")
    status: str = required("regressed, improved, on par, open or no claim")
    ratio: Ratio = required("new over base")
    why: str = required("why nothing is claimed")
    more_rounds: int | None = optional("rounds that an open claim still needs")


class Side(OutputObject):
    """A side of a comparison."""

    name: str = required("as the user named it")
    campaign: str = required("the campaign")
    site: str = required("the site")
    started: str = required("start of the run")
    digest: str = required("sha256 of the manifest of its bundle")
    chosen: Mapping[str, str] = required("what was chosen of it, by key")


class Fact(OutputObject):
    """A recorded fact of both sides."""

    name: str = required("the fact")
    base: str = required("its value in the base")
    new: str = required("its value in the new side")


class Comparison(OutputObject):
    """`roundtrip compare --format json`, and `roundtrip ab --format json`."""

    version: Literal[2] = Field(2, alias="schema", description="version of this form")
    summary: str = required("one line")
    exit_status: int = required(
        "1 if something regressed or one side lacks a case, 2 if nothing could be decided, else 0"
    )
    base: Side = required("what is compared with")
    new: Side = required("what is compared")
    levels: Mapping[str, float] = required("what a claim is held to")
    sequential: bool = required("whether the run went on until its claims were decided")
    provenance: tuple[Fact, ...] = required("facts that differ; with --all, all of them")
    series: tuple[ComparedSeries, ...] = required("ranked by evidence")
    removed: tuple[Case, ...] = required("cases of the base alone")
    added: tuple[Case, ...] = required("cases of the new side alone")
    refused: tuple[str, ...] = required("what was not compared, and why")
    notes: tuple[str, ...] = required("what a reader must know")


class NodeMeasure(OutputObject):
    """How far a node, switch or link is off in one measure."""

    measure: str = required("latency, tail, bandwidth or failure")
    inside: bool = required("whether inside of a node, not between nodes")
    partition: str = required("the partition")
    environ: str = required("the toolchain")
    label: str = required("that it is emulated or simulated, else empty")
    percent: float = required("effect in percent of usual")
    low: float | None = optional("lower end of its interval")
    high: float | None = optional("its upper end")
    launches: int = required("launches on it")
    partners: int = required("other nodes in them")
    nights: int = required("nights of them")
    q: float = required("corrected for all nodes and measures")


class NamedNode(OutputObject):
    """A node, switch or link that is sick."""

    campaign: str = required("the campaign")
    kind: str = required("node, switch or link")
    name: str = required("its name")
    nodes: tuple[str, ...] = required("pseudonyms of the nodes that it means")
    slow_processor: bool = required("whether its processor is slow")
    measures: tuple[NodeMeasure, ...] = required("the evidence")


class FlakyNodes(OutputObject):
    """Nodes on which launches fail more often than elsewhere."""

    campaign: str = required("the campaign")
    nodes: tuple[str, ...] = required("their pseudonyms")
    failed: int = required("failed launches on them")
    launches: int = required("launches on them")
    failed_elsewhere: int = required("failed launches elsewhere")
    launches_elsewhere: int = required("launches elsewhere")
    nights: int = required("nights of them")
    chance: float = required("probability of so many by chance")


class OpenNode(OutputObject):
    """A node with too few launches for a verdict."""

    campaign: str = required("the campaign")
    node: str = required("its pseudonym")
    launches: int = required("launches on it")
    rounds: int = required("more rounds that would do")


class WrongClock(OutputObject):
    """A node whose clock runs faster or slower than those of others in the newest night."""

    campaign: str = required("the campaign")
    node: str = required("its pseudonym")
    rate: float = required("its rate over theirs")
    partners: int = required("other nodes that differ from it")
    other: str = required("the only other node, whose clock may be the wrong one; empty if not")


class MissingNode(OutputObject):
    """A node that the newest night did not measure."""

    campaign: str = required("the campaign")
    node: str = required("its pseudonym")
    state: str = required("Slurm's, or FAILED, or MISSING")
    reason: str = required("the reason")
    night: str = required("the newest night")
    last: str = required("the last night that measured it, empty without one")


class Nodes(OutputObject):
    """`roundtrip nodes --json`."""

    version: Literal[1] = Field(1, alias="schema", description="version of this form")
    site: str = required("the site")
    labels: Mapping[str, Mapping[str, str]] = required(
        "what is not real, by campaign and toolchain"
    )
    named: tuple[NamedNode, ...] = required("sick nodes, switches and links, worst first")
    flaky: tuple[FlakyNodes, ...] = required("nodes whose launches fail")
    clocks: tuple[WrongClock, ...] = required("nodes whose clock runs at a wrong rate")
    cannot_tell: tuple[OpenNode, ...] = required("nodes with too few launches")
    not_measured: tuple[MissingNode, ...] = required("nodes that the newest night lacks")
    hosts: Mapping[str, str] = required("hosts by pseudonym, with the key of the site")


class SiteFinding(OutputObject):
    """The result of one check of a site."""

    verdict: Literal["ok", "fault", "not checked"] = required("what came of it")
    subject: str = required("what was looked at")
    detail: str = required("what was found, what is wrong, or why it was not done")


class SiteCheck(OutputObject):
    """`roundtrip site check --json`."""

    version: Literal[1] = Field(1, alias="schema", description="version of this form")
    site: str = required("the site")
    findings: tuple[SiteFinding, ...] = required("in the order of the site's parts")


#: The models of the commands that print JSON.
OUTPUTS: Mapping[str, type[OutputObject]] = {
    "history": History,
    "compare": Comparison,
    "ab": Comparison,
    "nodes": Nodes,
    "site-check": SiteCheck,
}


def text(model: type[OutputObject], content: Mapping[str, Any]) -> str:
    """Return the answer as JSON, in ASCII; ValidationError if `content` does not fit `model`.

    Characters that UTF-8 cannot encode, as in file names, become ``?``.
    """
    plain = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    answer = model.model_validate_json(plain)
    return json.dumps(answer.model_dump(mode="json", by_alias=True), indent=1)


def schema(model: type[OutputObject]) -> str:
    """The JSON Schema of an answer."""
    content = model.model_json_schema(mode="serialization")
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **content}, indent=1)
