"""Texts on sick nodes and wrong clocks, for a report and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import RichText, plain_text
from roundtrip.history.node_faults import DeviatingClock, SlowProcessor
from roundtrip.history.nodes import BANDWIDTH, LATENCY, TAIL, MeasureName
from roundtrip.stats.nodes.failures import FlakyNode
from roundtrip.stats.nodes.judge import Evidence, NodeVerdicts, Outlier, UnjudgedNode
from roundtrip.stats.nodes.launches import UnitKind
from roundtrip.units import Quantity, Unit

#: From this factor on, an effect is printed as a factor, not in percent.
_MIN_PRINTED_FACTOR = 3.0
_TEXT_BY_MEASURE = {LATENCY: "latency", BANDWIDTH: "bandwidth", TAIL: "tail of short messages"}
_NUMBER_WORDS = [
    *("no", "one", "two", "three", "four", "five"),
    *("six", "seven", "eight", "nine", "ten"),
]


def measure_name(evidence: Evidence) -> MeasureName:
    """The name of the measure of `evidence`."""
    assert isinstance(evidence.measure, MeasureName)  # noqa: S101  every measure has such a name
    return evidence.measure


def effect_content(log_effect: float, measure: str) -> RichText:
    """``+38 %``, ``41 times`` if large, ``-40 %`` of bandwidth; from a natural logarithm."""
    if measure != BANDWIDTH and math.exp(log_effect) >= _MIN_PRINTED_FACTOR:
        return units.pure_number(math.exp(log_effect)), " times"
    percent = effect_percent(log_effect, measure)
    quantity = Quantity(value=percent, unit=Unit.PERCENT, decimals=0, is_signed=True)
    return quantity, f"\N{NO-BREAK SPACE}{Unit.PERCENT}"


def describe_effect(log_effect: float, measure: str) -> str:
    """The text of `effect_content`."""
    return plain_text(effect_content(log_effect, measure))


def effect_percent(log_effect: float, measure: str) -> float:
    """Percent from the usual value, below 0 for a worse bandwidth; `log_effect`: a natural
    logarithm, above 0 if worse."""
    return 100 * math.expm1(-log_effect if measure == BANDWIDTH else log_effect)


def measured_amount(value: float, unit: str, digits: int = 3) -> Quantity:
    """A value that prints its unit; seconds are printed as microseconds."""
    if unit == Unit.S:
        return units.amount(value * units.FACTOR_FROM_SECONDS[Unit.US], Unit.US, digits)
    return units.amount(value, unit, digits)


def describe_usual_level(name: MeasureName) -> str:
    """``4.1 µs``: the usual value of a measure; of a tail ``mean over median 1.2``."""
    if name.unit == "1":
        return f"mean over median {units.pure_number(name.level)}"
    return str(measured_amount(name.level, name.unit))


def effect_interval_text(evidence: Evidence) -> str:
    """`` [31, 45]``, the interval of an effect in the unit of its text; "" without one."""
    test, measure = evidence.unit_effect, measure_name(evidence).measure
    if test.low is None or test.high is None:
        return ""
    if measure != BANDWIDTH and math.exp(test.effect) >= _MIN_PRINTED_FACTOR:
        low, high = math.exp(test.low), math.exp(test.high)
        return f" {Quantity(value=low, unit=Unit.RATIO, low=low, high=high).interval_text}"
    low, high = sorted(effect_percent(end, measure) for end in (test.low, test.high))
    quantity = Quantity(value=low, unit=Unit.PERCENT, low=low, high=high, decimals=0)
    return f" {quantity.interval_text}"


def interval_includes_zero(evidence: Evidence) -> bool:
    """Whether it includes 0: some launches saw no effect, most did; `q` still names the unit."""
    return evidence.unit_effect.low is not None and evidence.unit_effect.low <= 0


def q_quantity(q: float) -> Quantity | str:
    """A q-value with six decimals."""
    return "below 0.000001" if q < 1e-6 else Quantity(value=q, unit=Unit.PURE_NUMBER, decimals=6)


def describe_outlier(
    outlier: Outlier, verdicts: NodeVerdicts, processor: SlowProcessor | None = None
) -> str:
    """The strongest evidence: ``latency +38 % [31, 45] with all 15 partners, two nights``.

    The text on a slow `processor` of the node comes first.
    """
    if processor:
        return f"{describe_slow_processor(processor)}; {describe_outlier(outlier, verdicts)}"
    # Evidence between nodes comes first: the partners show which node causes the effect.
    first = min(outlier.evidence, key=lambda evidence: measure_name(evidence).is_alone)
    test, name = first.unit_effect, measure_name(first)
    measures = {measure_name(evidence).measure for evidence in outlier.evidence}
    rest = ""
    if other_count := len(measures) - 1:
        rest = f"; and {units.plural(other_count, 'other measure')}"
    if interval_includes_zero(first):
        rest += f"; named by q {q_quantity(first.q)}, not by the interval"
    effect = f"{describe_effect(test.effect, name.measure)}{effect_interval_text(first)}"
    effect_text = f"{describe_measure(name)} {effect}"
    all_partners = verdicts.sensitivities[first.measure].node_count - len(outlier.members)
    if outlier.kind is UnitKind.LINK or name.is_alone:
        partners = f", {units.plural(test.launches, 'launch')}"
    elif test.partners >= all_partners:
        partners = f" with all {all_partners} partners"
    else:
        partners = f" with {test.partners} of {all_partners} partners"
    return f"{effect_text}{partners}, {count_in_words(test.nights, 'night')}{rest}"


def describe_slow_processor(processor: SlowProcessor) -> str:
    """``its processor is slow: inside the node, without the network, latency +98 %, ...``."""
    count = units.plural(processor.launches, "launch")
    if processor.throttled:
        share = units.percent_text(processor.throttled)
        limit = f"a CPU limit stops its ranks for {share} of the time"
        return f"its processor is slow: {limit} ({count})"
    effects = ", ".join(
        f"{_TEXT_BY_MEASURE[measure]} {describe_effect(effect, measure)}"
        for measure, effect in processor.effects
    )
    state = "stands still at times" if processor.pauses else "is slow"
    detail = f"inside the node, without the network, {effects}"
    return f"its processor {state}: {detail} ({count})"


def flaky_title(flaky_node: FlakyNode, label_suffix: str, verdict: str = "is flaky") -> str:
    """``node-1a2b is flaky (EMULATED NODES)``, or ``One of node-1a2b and node-3c4d is flaky``."""
    if len(flaky_node.names) > 1:
        return f"One of {' and '.join(flaky_node.names)} {verdict}{label_suffix}"
    return f"{flaky_node.names[0]} {verdict}{label_suffix}"


def describe_flaky(flaky_node: FlakyNode, verb: str) -> str:
    """``8 of 25 launches on it failed, 1 of 300 elsewhere, two nights``; `verb`: ``failed``."""
    (bad, count), (far_bad, far_count) = flaky_node.counts, flaky_node.other_counts
    on = "on it" if len(flaky_node.names) == 1 else "on either"
    nights = count_in_words(flaky_node.nights, "night")
    counts = f"{bad} of {count} launches {on} {verb}, {far_bad} of {far_count} elsewhere, {nights}"
    if len(flaky_node.names) > 1:
        counts += f"; they {verb} only together: launches with other partners will show which"
    return f"{counts}."


def describe_clock_rate(clock: DeviatingClock) -> str:
    """``runs 1.3 times as fast as those of 2 other nodes: its times are wrong.``"""
    rate = f"{math.exp(clock.excess):.4g}"
    return f"runs {rate} times as fast as {_describe_other_clocks(clock)}: its times are wrong."


def describe_wall_clock(clock: DeviatingClock) -> str:
    """``is 120 s ahead of those of 2 other nodes: its logs are misdated.``"""
    offset = f"{abs(clock.excess):.3g} s {'ahead of' if clock.excess > 0 else 'behind'}"
    return f"is {offset} {_describe_other_clocks(clock)}: its logs are misdated."


def _describe_other_clocks(clock: DeviatingClock) -> str:
    if clock.other:
        return f"that of {clock.other}; with only two clocks the right one is not known"
    pronoun = "those" if clock.partners > 1 else "that"
    return f"{pronoun} of {units.plural(clock.partners, 'other node')}"


def describe_measure(name: MeasureName) -> str:
    """``latency``, ``tail of short messages``, ``bandwidth inside the node``."""
    return f"{_TEXT_BY_MEASURE[name.measure]}{' inside the node' if name.is_alone else ''}"


def describe_partition(name: MeasureName, labels_by_environ: Mapping[str, str]) -> str:
    """``partition cluster, openmpi41-boost181 (EMULATED NODES)``: where a measure was taken."""
    return f"{name.place}, {name.environ}{environ_label_suffix([name.environ], labels_by_environ)}"


def environ_label_suffix(environs: Iterable[str], labels_by_environ: Mapping[str, str]) -> str:
    """`` (EMULATED NODES)``: the labels of these environments; "" for real hardware."""
    return labels.label_suffix(sorted(labels_by_environ.get(environ, "") for environ in environs))


def outlier_title(outlier: Outlier, labels_by_environ: Mapping[str, str]) -> str:
    """``node-1a2b is sick (EMULATED NODES)``."""
    label_suffix = environ_label_suffix(
        (measure_name(evidence).environ for evidence in outlier.evidence), labels_by_environ
    )
    if outlier.kind is UnitKind.LINK:
        return f"The link {outlier.name} is sick{label_suffix}"
    if outlier.kind is UnitKind.SWITCH:
        count = count_in_words(len(outlier.members), "node")
        return f"{outlier.name} is sick, with {count}{label_suffix}"
    return f"{outlier.name} is sick{label_suffix}"


def describe_healthy(verdicts: NodeVerdicts, labels_by_environ: Mapping[str, str]) -> str:
    """``No node stands out of 32; latency +100 µs, bandwidth -40 % would have been seen``.

    If the launches can show no effect: how many more rounds are needed.
    """
    names = [name for name in verdicts.sensitivities if isinstance(name, MeasureName)]
    label_suffix = environ_label_suffix((name.environ for name in names), labels_by_environ)
    effect_texts: dict[str, str] = {}
    for name in names:
        if (detectable_effect := verdicts.sensitivities[name].detectable_effect) is not None:
            measure = describe_measure(name)
            effect_text = f"{measure} {describe_effect(detectable_effect, name.measure)}"
            if name.measure == LATENCY:
                excess = math.expm1(detectable_effect) * name.level
                effect_text = f"latency +{measured_amount(excess, Unit.S, 2)}"
            effect_texts.setdefault(measure, effect_text)
    if effect_texts:
        first_two = sorted(effect_texts, key=_measure_sort_key)[:2]
        effects = ", ".join(effect_texts[key] for key in first_two)
        sentence = f"None of {len(verdicts.nodes)} nodes stands out{label_suffix}"
        return f"{sentence}; {effects} would have been seen."
    need = "too few nodes were measured"
    if sensitivities := verdicts.sensitivities.values():
        rounds = min(sensitivity.extra_rounds for sensitivity in sensitivities)
        need = f"needs {units.plural(max(1, rounds), 'more round')}"
    return f"Cannot judge {units.plural(len(verdicts.nodes), 'node')}{label_suffix}: {need}."


def describe_unjudged(nodes: tuple[UnjudgedNode, ...]) -> str:
    """``Cannot judge 3 nodes: needs 2 more rounds``."""
    rounds = max(node.extra_rounds for node in nodes)
    count = units.plural(len(nodes), "node")
    return f"Cannot judge {count}: needs {units.plural(rounds, 'more round')}."


def count_in_words(count: int, noun: str) -> str:
    """``two nights``: a small number in words."""
    number = _NUMBER_WORDS[count] if count < len(_NUMBER_WORDS) else str(count)
    return f"{number} {noun}{'s' * (count != 1)}"


def _measure_sort_key(measure: str) -> int:
    return {"latency": 0, "bandwidth": 1}.get(measure, 2 if measure.startswith("tail") else 3)
