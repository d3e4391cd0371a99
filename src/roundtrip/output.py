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


def required_key(description: str) -> Any:
    """Return the field for a key that is always present."""
    return Field(description=description)


def nullable_key(description: str) -> Any:
    """Return the field for a key that may be null."""
    return Field(None, description=description)


class Change(OutputObject):
    """A recorded fact that differs between two nights."""

    subject: str = required_key("the environment it is of, empty for the site or for nodes")
    name: str = required_key("the fact")
    before: str = required_key("its value before")
    after: str = required_key("its value since")
    nodes: tuple[str, ...] = required_key("pseudonyms of the nodes it is of")


class Step(OutputObject):
    """A change point of a series."""

    night: str = required_key("the first night after it")
    ratio: float = required_key("the level after over the level before")
    low: float = required_key("lower end of the interval of the ratio")
    high: float = required_key("its upper end")
    evidence: float = required_key("evidence with the sign of the change")
    threshold: float = required_key("what the evidence exceeds")
    nights: int = required_key("nights of the level since")


class Incident(OutputObject):
    """Consecutive nights off the level of a series, which then returned to it."""

    first: str = required_key("the first night")
    last: str = required_key("the last night")
    ratio: float = required_key("their values over the level")


class Revision(OutputObject):
    """A change point that was reported, and is now seen elsewhere or not at all."""

    reported: str = required_key("the night that was reported")
    ratio: float = required_key("the ratio that was reported")
    now: str | None = nullable_key("the night where it is now, null if it is withdrawn")
    why: str = required_key("why it is withdrawn")


class Shares(OutputObject):
    """How often a series is in the worse of two modes."""

    nights: int = required_key("newest nights that are counted")
    before: float = required_key("share of the worse mode in the nights before, of 1")
    after: float = required_key("share in the newest nights")
    ratio: float = required_key("the higher mode over the lower")


class Newest(OutputObject):
    """The newest night against what the nights before predict."""

    ratio: float = required_key("the newest value over the level")
    low: float = required_key("lower end of what one night may show")
    high: float = required_key("its upper end")
    is_outside: bool = required_key("whether the newest value lies outside")


class Accepted(OutputObject):
    """An annotation that accepts a level as baseline."""

    up_to: str = required_key("the last day or second that it covers")
    reason: str = required_key("what a person said")


class Control(OutputObject):
    """A series that did not change, launched again beside another."""

    series: str = required_key("its name")
    beyond: int | None = nullable_key("its launches that lie beyond the level")
    launches: int | None = nullable_key("its launches")


class Confirmation(OutputObject):
    """What was launched again because it was worse."""

    verdict: str = required_key("confirmed, not confirmed, or why it is open")
    why_not: str = required_key("why nothing was launched again")
    beyond: int = required_key("launches that lie beyond the level")
    launches: int = required_key("launches of the series")
    on_other_nodes: int = required_key("launches on other nodes than the night's")
    control: Control | None = nullable_key("the control")


class SeriesHistory(OutputObject):
    """A series of medians over nights, and its verdict."""

    campaign: str = required_key("the campaign")
    nights: int = required_key("nights of the campaign on the site")
    case_id: str = required_key("the case: check, parameters, partition and toolchain")
    study: str = required_key("the study")
    case: str = required_key("what was measured, as in the samples")
    variant: str = required_key("the variant")
    size_bytes: int = required_key("size of a message in bytes, 0 without one")
    phase: str = required_key("the phase in samples.csv: measure, total, compute, ...")
    metric: str = required_key("the quantity")
    unit: str = required_key("its unit")
    mark: str = required_key("EMULATED or SIMULATED label, else empty")
    verdict: str = required_key(
        "regressed, improved, unchanged, worse last night, too few nights, ..."
    )
    is_news: bool = required_key("whether that happened lately")
    since: str | None = nullable_key("the night since when")
    ratio: float | None = nullable_key("the level since over the level before")
    interval: Interval | None = nullable_key("of the ratio")
    drift_a_year: float | None = nullable_key("factor per year, of a drifting series")
    changes: tuple[Change, ...] = required_key("recorded facts that changed then")
    would_have_seen: float | None = nullable_key(
        "the smallest step, of 1, that `sight_nights` more nights would show"
    )
    alarm: bool = required_key("whether it makes the exit status 1")
    shares_of_modes: Shares | None = nullable_key("of a series with two modes")
    newest: Newest | None = nullable_key("the newest night alone")
    steps: tuple[Step, ...] = required_key("every change point")
    incidents: tuple[Incident, ...] = required_key("every incident")
    revisions: tuple[Revision, ...] = required_key("every revision")
    revised: tuple[str, ...] = required_key("the revisions since the night before, in words")
    minimum_effect: float | None = nullable_key("the least effect that is a verdict, of 1")
    accepted: Accepted | None = nullable_key("the annotation that accepts the level")
    confirmation: Confirmation | None = nullable_key("what was launched again")
    why: str = required_key("why there is no verdict")


class History(OutputObject):
    """`roundtrip history --json`."""

    version: Literal[2] = Field(2, alias="schema", description="version of this form")
    site: str = required_key("the site")
    series: tuple[SeriesHistory, ...] = required_key("every requested series")
    signatures: Mapping[str, tuple[str, ...]] = required_key("who signed the nights, by campaign")


class Case(OutputObject):
    """A case of a comparison."""

    study: str = required_key("the study")
    check: str = required_key("the check")
    parameters: str = required_key("its parameters")
    kind: str = required_key("EMULATED or SIMULATED label, else empty")
    site: str = required_key("the site")
    partition: str = required_key("the partition")
    toolchain: str = required_key("the toolchain")


class Quantity(OutputObject):
    """A number with its interval, as it was computed."""

    median: float = required_key("the median")
    low: float | None = nullable_key("lower end of its interval")
    high: float | None = nullable_key("its upper end")
    level: float | None = nullable_key("confidence level of the interval")
    n: int | None = nullable_key("launches or rounds")
    unit: str = required_key("its unit")
    direction: str = required_key("lower or higher is better; empty if neither is")
    label: str = required_key("measured, or what is emulated or simulated")


class MeasuredCase(Case, Quantity):
    """A case with its median."""


class Ratio(Quantity):
    """Speed of the new side over the base; only a claim has an interval, p and q."""

    p: float | None = nullable_key("p of no difference")
    q: float | None = nullable_key("p, corrected for all series")


class ComparedSeries(OutputObject):
    """A value that both sides have."""

    what: str = required_key("the value")
    size_bytes: int | None = nullable_key("size of a message in bytes")
    unit: str = required_key("unit of the medians, from which the ratio of speeds is formed")
    base: MeasuredCase = required_key("the side that is compared with")
    new: MeasuredCase = required_key("the side that is compared")
    status: str = required_key("regressed, improved, on par, open or no claim")
    ratio: Ratio = required_key("new over base")
    why: str = required_key("why nothing is claimed")
    more_rounds: int | None = nullable_key("rounds that an open claim still needs")


class Side(OutputObject):
    """A side of a comparison."""

    name: str = required_key("as the user named it")
    campaign: str = required_key("the campaign")
    site: str = required_key("the site")
    started: str = required_key("start of the run")
    digest: str = required_key("sha256 of the manifest of its bundle")
    chosen: Mapping[str, str] = required_key("what was chosen of it, by key")


class Fact(OutputObject):
    """A recorded fact of both sides."""

    name: str = required_key("the fact")
    base: str = required_key("its value in the base")
    new: str = required_key("its value in the new side")


class Comparison(OutputObject):
    """`roundtrip compare --format json`, and `roundtrip ab --format json`."""

    version: Literal[2] = Field(2, alias="schema", description="version of this form")
    summary: str = required_key("one line")
    exit_status: int = required_key(
        "1 if a series regressed, one side lacks a case, or nothing could be decided; else 0"
    )
    base: Side = required_key("what is compared with")
    new: Side = required_key("what is compared")
    levels: Mapping[str, float] = required_key("thresholds of a claim")
    sequential: bool = required_key("whether the run went on until its claims were decided")
    provenance: tuple[Fact, ...] = required_key("facts that differ; with --all, all of them")
    series: tuple[ComparedSeries, ...] = required_key("ranked by evidence")
    removed: tuple[Case, ...] = required_key("cases of the base alone")
    added: tuple[Case, ...] = required_key("cases of the new side alone")
    refused: tuple[str, ...] = required_key("what was not compared, and why")
    notes: tuple[str, ...] = required_key("what a reader must know")


class NodeMeasure(OutputObject):
    """How far a node, switch or link is off in one measure."""

    measure: str = required_key("latency, tail, bandwidth or failure")
    inside: bool = required_key("whether inside of a node, not between nodes")
    partition: str = required_key("the partition")
    environ: str = required_key("the toolchain")
    label: str = required_key("EMULATED or SIMULATED label, else empty")
    percent: float = required_key("effect in percent of usual")
    low: float | None = nullable_key("lower end of its interval")
    high: float | None = nullable_key("its upper end")
    launches: int = required_key("launches on it")
    partners: int = required_key("other nodes in them")
    nights: int = required_key("nights of them")
    q: float = required_key("corrected for all nodes and measures")


class NamedNode(OutputObject):
    """A node, switch or link that is sick."""

    campaign: str = required_key("the campaign")
    kind: str = required_key("node, switch or link")
    name: str = required_key("its name")
    nodes: tuple[str, ...] = required_key("pseudonyms of the nodes that it means")
    slow_processor: bool = required_key("whether its processor is slow")
    measures: tuple[NodeMeasure, ...] = required_key("the evidence")


class FlakyNodes(OutputObject):
    """Nodes on which launches fail more often than elsewhere."""

    campaign: str = required_key("the campaign")
    nodes: tuple[str, ...] = required_key("their pseudonyms")
    failed: int = required_key("failed launches on them")
    launches: int = required_key("launches on them")
    failed_elsewhere: int = required_key("failed launches elsewhere")
    launches_elsewhere: int = required_key("launches elsewhere")
    nights: int = required_key("nights of them")
    chance: float = required_key("probability of so many by chance")


class OpenNode(OutputObject):
    """A node with too few launches for a verdict."""

    campaign: str = required_key("the campaign")
    node: str = required_key("its pseudonym")
    launches: int = required_key("launches on it")
    rounds: int = required_key("more rounds that would do")


class WrongClock(OutputObject):
    """A node whose clock runs faster or slower than those of others in the newest night."""

    campaign: str = required_key("the campaign")
    node: str = required_key("its pseudonym")
    rate: float = required_key("its rate over theirs")
    partners: int = required_key("other nodes that differ from it")
    other: str = required_key(
        "the other node if there is only one, whose clock may be wrong; else empty"
    )


class MissingNode(OutputObject):
    """A node that the newest night did not measure."""

    campaign: str = required_key("the campaign")
    node: str = required_key("its pseudonym")
    state: str = required_key("the scheduler's, or FAILED, or MISSING")
    reason: str = required_key("the reason")
    night: str = required_key("the newest night")
    last: str = required_key("the last night that measured it, empty without one")


class Nodes(OutputObject):
    """`roundtrip nodes --json`."""

    version: Literal[1] = Field(1, alias="schema", description="version of this form")
    site: str = required_key("the site")
    labels: Mapping[str, Mapping[str, str]] = required_key(
        "what is not real, by campaign and toolchain"
    )
    named: tuple[NamedNode, ...] = required_key("sick nodes, switches and links, worst first")
    flaky: tuple[FlakyNodes, ...] = required_key("nodes whose launches fail")
    clocks: tuple[WrongClock, ...] = required_key("nodes whose clock runs at a wrong rate")
    cannot_tell: tuple[OpenNode, ...] = required_key("nodes with too few launches")
    not_measured: tuple[MissingNode, ...] = required_key("nodes that the newest night lacks")
    hosts: Mapping[str, str] = required_key("hosts by pseudonym, with the key of the site")


class SiteFinding(OutputObject):
    """The result of one check of a site."""

    verdict: Literal["ok", "fault", "not checked"] = required_key("what came of it")
    subject: str = required_key("what was looked at")
    detail: str = required_key("the result, the fault, or why it was skipped")


class SiteCheck(OutputObject):
    """`roundtrip site check --json`."""

    version: Literal[1] = Field(1, alias="schema", description="version of this form")
    site: str = required_key("the site")
    findings: tuple[SiteFinding, ...] = required_key("in the order of the site's parts")


#: The models of the commands that print JSON.
MODEL_BY_COMMAND: Mapping[str, type[OutputObject]] = {
    "history": History,
    "compare": Comparison,
    "ab": Comparison,
    "nodes": Nodes,
    "site-check": SiteCheck,
}


def json_text(model: type[OutputObject], content: Mapping[str, Any]) -> str:
    """JSON in ASCII, ``?`` for what UTF-8 lacks; ValidationError if `content` is no `model`."""
    plain = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    answer = model.model_validate_json(plain)
    return json.dumps(answer.model_dump(mode="json", by_alias=True), indent=1)


def json_schema_text(model: type[OutputObject]) -> str:
    """The JSON Schema of what a command prints with ``--json``."""
    content = model.model_json_schema(mode="serialization")
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **content}, indent=1)
