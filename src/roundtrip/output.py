"""The JSON that commands print: a model for each, from which its JSON Schema is generated.

`schema` in an answer is the version of its form: it grows when a key is removed or means something
else.  Keys may be added without that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Interval = Annotated[tuple[float, float], Field(description="both ends of an interval")]


class Part(BaseModel):
    """An object of an answer; it has all keys that are named here."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,
        json_schema_serialization_defaults_required=True,
    )


def says(description: str) -> Any:
    """A key that is always there, and what it holds."""
    return Field(description=description)


def maybe(description: str) -> Any:
    """A key that is null where there is nothing to say."""
    return Field(None, description=description)


class Change(Part):
    """A recorded fact that differs between two nights."""

    subject: str = says("the environment it is of, empty for the site or for nodes")
    name: str = says("the fact")
    before: str = says("its value before")
    after: str = says("its value since")
    nodes: tuple[str, ...] = says("pseudonyms of the nodes it is of")


class Step(Part):
    """A change point of a series."""

    night: str = says("the first night after it")
    ratio: float = says("the level after over the level before")
    low: float = says("lower end of the interval of the ratio")
    high: float = says("its upper end")
    evidence: float = says("evidence with the sign of the change")
    threshold: float = says("what the evidence exceeds")
    nights: int = says("nights of the level since")


class Incident(Part):
    """Nights that lie apart from the level and went back to it."""

    first: str = says("the first night")
    last: str = says("the last night")
    ratio: float = says("their values over the level")


class Revision(Part):
    """A change point that was reported, and is now seen elsewhere or not at all."""

    reported: str = says("the night that was reported")
    ratio: float = says("the ratio that was reported")
    now: str | None = maybe("the night where it is now, null if it is withdrawn")
    why: str = says("why it is withdrawn")


class Shares(Part):
    """How often a series is in the worse of two modes."""

    nights: int = says("newest nights that are counted")
    before: float = says("share of the worse mode in the nights before, of 1")
    after: float = says("share in the newest nights")
    ratio: float = says("the higher mode over the lower")


class Newest(Part):
    """The newest night against what the nights before predict."""

    ratio: float = says("the newest value over the level")
    low: float = says("lower end of what one night may show")
    high: float = says("its upper end")
    is_outside: bool = says("whether the newest value lies outside")


class Accepted(Part):
    """An annotation that accepts a level as baseline."""

    up_to: str = says("the last day or second that it covers")
    reason: str = says("what a person said")


class Control(Part):
    """A series that did not change, launched again beside another."""

    series: str = says("its name")
    beyond: int | None = maybe("its launches that lie beyond the level")
    launches: int | None = maybe("its launches")


class Confirmation(Part):
    """What was launched again because it was worse."""

    verdict: str = says("confirmed, not confirmed, or why it is open")
    why_not: str = says("why nothing was launched again")
    beyond: int = says("launches that lie beyond the level")
    launches: int = says("launches of the series")
    on_other_nodes: int = says("launches on other nodes than the night's")
    control: Control | None = maybe("the control")


class SeriesHistory(Part):
    """A series of medians over nights, and its verdict."""

    campaign: str = says("the campaign")
    nights: int = says("nights of the campaign on the site")
    case_id: str = says("the case: check, parameters, partition and toolchain")
    study: str = says("the study")
    case: str = says("what was measured, as in the samples")
    variant: str = says("the variant")
    size_bytes: int = says("size of a message in bytes, 0 without one")
    phase: str = says("the part of the measurement")
    metric: str = says("the quantity")
    unit: str = says("its unit")
    mark: str = says("that it is emulated or simulated, else empty")
    verdict: str = says("regressed, improved, unchanged, worse last night, too few nights, ...")
    is_news: bool = says("whether that happened lately")
    since: str | None = maybe("the night since when")
    ratio: float | None = maybe("the level since over the level before")
    interval: Interval | None = maybe("of the ratio")
    drift_a_year: float | None = maybe("factor in a year, of a series that drifts")
    changes: tuple[Change, ...] = says("recorded facts that differ there")
    would_have_seen: float | None = maybe("the least step, of 1, that 10 more nights would show")
    alarm: bool = says("whether it makes the exit status 1")
    shares_of_modes: Shares | None = maybe("of a series with two modes")
    newest: Newest | None = maybe("the newest night alone")
    steps: tuple[Step, ...] = says("every change point")
    incidents: tuple[Incident, ...] = says("every incident")
    revisions: tuple[Revision, ...] = says("every revision")
    revised: tuple[str, ...] = says("the revisions since the night before, in words")
    minimum_effect: float | None = maybe("the least effect that is a verdict, of 1")
    accepted: Accepted | None = maybe("the annotation that accepts the level")
    confirmation: Confirmation | None = maybe("what was launched again")
    why: str = says("why there is no verdict")


class History(Part):
    """`roundtrip history --json`."""

    version: Literal[2] = Field(2, alias="schema", description="version of this form")
    site: str = says("the site")
    series: tuple[SeriesHistory, ...] = says("every series that was asked for")
    signatures: Mapping[str, tuple[str, ...]] = says("who signed the nights, by campaign")


class Case(Part):
    """A case of a comparison."""

    study: str = says("the study")
    check: str = says("the check")
    parameters: str = says("its parameters")
    kind: str = says("that it is emulated or simulated, else empty")
    site: str = says("the site")
    partition: str = says("the partition")
    toolchain: str = says("the toolchain")


class Quantity(Part):
    """A number with its interval, as it was computed."""

    median: float = says("the median")
    low: float | None = maybe("lower end of its interval")
    high: float | None = maybe("its upper end")
    level: float | None = maybe("confidence level of the interval")
    n: int | None = maybe("launches or rounds")
    unit: str = says("its unit")
    direction: str = says("lower or higher is better; empty if neither is")
    label: str = says("measured, or what is emulated or simulated")


class MeasuredCase(Case, Quantity):
    """A case with its median."""


class Ratio(Quantity):
    """Speed of the new side over the base; only a claim has an interval, p and q."""

    p: float | None = maybe("p of no difference")
    q: float | None = maybe("p, corrected for all series")


class ComparedSeries(Part):
    """A value that both sides have."""

    what: str = says("the value")
    size_bytes: int | None = maybe("size of a message in bytes")
    unit: str = says("unit of the medians, from which the ratio of speeds is formed")
    base: MeasuredCase = says("the side that is compared with")
    new: MeasuredCase = says("the side that is compared")
    status: str = says("regressed, improved, on par, cannot tell or no claim")
    ratio: Ratio = says("new over base")
    why: str = says("why nothing is claimed")
    more_rounds: int | None = maybe("rounds that an open claim still needs")


class Side(Part):
    """A side of a comparison."""

    name: str = says("as the user named it")
    campaign: str = says("the campaign")
    site: str = says("the site")
    started: str = says("start of the run")
    digest: str = says("sha256 of the manifest of its bundle")
    chosen: Mapping[str, str] = says("what was chosen of it, by key")


class Fact(Part):
    """A recorded fact of both sides."""

    name: str = says("the fact")
    base: str = says("its value in the base")
    new: str = says("its value in the new side")


class Comparison(Part):
    """`roundtrip compare --format json`, and `roundtrip ab --format json`."""

    version: Literal[1] = Field(1, alias="schema", description="version of this form")
    summary: str = says("one line")
    exit_status: int = says("1 if something regressed, 2 if nothing could be decided, else 0")
    base: Side = says("what is compared with")
    new: Side = says("what is compared")
    levels: Mapping[str, float] = says("what a claim is held to")
    sequential: bool = says("whether the run went on until its claims were decided")
    provenance: tuple[Fact, ...] = says("facts that differ; with --all, all of them")
    series: tuple[ComparedSeries, ...] = says("ranked by evidence")
    removed: tuple[Case, ...] = says("cases of the base alone")
    added: tuple[Case, ...] = says("cases of the new side alone")
    refused: tuple[str, ...] = says("what was not compared, and why")
    notes: tuple[str, ...] = says("what a reader must know")


class NodeMeasure(Part):
    """How far a node, switch or link is off in one measure."""

    measure: str = says("latency, tail, bandwidth or failure")
    inside: bool = says("whether inside of a node, not between nodes")
    partition: str = says("the partition")
    environ: str = says("the toolchain")
    label: str = says("that it is emulated or simulated, else empty")
    percent: float = says("effect in percent of usual")
    low: float | None = maybe("lower end of its interval")
    high: float | None = maybe("its upper end")
    launches: int = says("launches on it")
    partners: int = says("other nodes in them")
    nights: int = says("nights of them")
    q: float = says("corrected for all nodes and measures")


class NamedNode(Part):
    """A node, switch or link that is sick."""

    campaign: str = says("the campaign")
    kind: str = says("node, switch or link")
    name: str = says("its name")
    nodes: tuple[str, ...] = says("pseudonyms of the nodes that it means")
    slow_processor: bool = says("whether its processor is slow")
    measures: tuple[NodeMeasure, ...] = says("the evidence")


class FlakyNodes(Part):
    """Nodes on which launches fail more often than elsewhere."""

    campaign: str = says("the campaign")
    nodes: tuple[str, ...] = says("their pseudonyms")
    failed: int = says("failed launches on them")
    launches: int = says("launches on them")
    failed_elsewhere: int = says("failed launches elsewhere")
    launches_elsewhere: int = says("launches elsewhere")
    nights: int = says("nights of them")
    chance: float = says("probability of so many by chance")


class OpenNode(Part):
    """A node with too few launches for a verdict."""

    campaign: str = says("the campaign")
    node: str = says("its pseudonym")
    launches: int = says("launches on it")
    rounds: int = says("more rounds that would do")


class MissingNode(Part):
    """A node that the newest night did not measure."""

    campaign: str = says("the campaign")
    node: str = says("its pseudonym")
    state: str = says("Slurm's, or FAILED, or MISSING")
    reason: str = says("the reason")
    night: str = says("the newest night")
    last: str = says("the last night that measured it, empty without one")


class Nodes(Part):
    """`roundtrip nodes --json`."""

    version: Literal[1] = Field(1, alias="schema", description="version of this form")
    site: str = says("the site")
    labels: Mapping[str, Mapping[str, str]] = says("what is not real, by campaign and toolchain")
    named: tuple[NamedNode, ...] = says("sick nodes, switches and links, worst first")
    flaky: tuple[FlakyNodes, ...] = says("nodes whose launches fail")
    cannot_tell: tuple[OpenNode, ...] = says("nodes with too few launches")
    not_measured: tuple[MissingNode, ...] = says("nodes that the newest night lacks")
    hosts: Mapping[str, str] = says("hosts by pseudonym, with the key of the site")


class SiteFinding(Part):
    """One thing that was looked at."""

    verdict: Literal["ok", "fault", "not checked"] = says("what came of it")
    subject: str = says("what was looked at")
    detail: str = says("what was found, what is wrong, or why it was not done")


class SiteCheck(Part):
    """`roundtrip site check --json`."""

    version: Literal[1] = Field(1, alias="schema", description="version of this form")
    site: str = says("the site")
    findings: tuple[SiteFinding, ...] = says("in the order of the site's parts")


#: The commands that print JSON.
OUTPUTS: Mapping[str, type[Part]] = {
    "history": History,
    "compare": Comparison,
    "ab": Comparison,
    "nodes": Nodes,
    "site-check": SiteCheck,
}


def text(model: type[Part], content: Mapping[str, Any]) -> str:
    """The answer as JSON, in ASCII; ValidationError if `content` is not of the model.

    Characters that UTF-8 does not have, as in names of files, become ``?``.
    """
    plain = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    answer = model.model_validate_json(plain)
    return json.dumps(answer.model_dump(mode="json", by_alias=True), indent=1)


def schema(model: type[Part]) -> str:
    """The JSON Schema of an answer."""
    content = model.model_json_schema(mode="serialization")
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **content}, indent=1)
