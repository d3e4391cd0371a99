"""Sick nodes in words: for a report and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from roundtrip.history.nodes import Name, SlowProcessor
from roundtrip.history.pairs import BANDWIDTH, LATENCY, TAIL
from roundtrip.report import units
from roundtrip.report.blocks import Text, plain
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.nodes.failures import Flaky
from roundtrip.stats.nodes.judge import Evidence, NodeVerdicts, Outlier, TooFew
from roundtrip.stats.nodes.launches import Kind

#: From here on an effect is a factor, not in percent.
_FACTOR = 3.0
_MEASURES = {LATENCY: "latency", BANDWIDTH: "bandwidth", TAIL: "tail of short messages"}
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def measure_name(one: Evidence) -> Name:
    """What the evidence is of."""
    assert isinstance(one.measure, Name)  # noqa: S101  every measure here has such a name
    return one.measure


def effect(log: float, measure: str) -> Text:
    """``+38 %`` of a logarithm; ``41 times`` where that reads better; of bandwidth ``-40 %``."""
    if measure != BANDWIDTH and math.exp(log) >= _FACTOR:
        return units.pure(math.exp(log)), " times"
    part = percent(log, measure)
    quantity = Quantity(value=part, unit=Unit.PERCENT, decimals=0, is_signed=True)
    return quantity, f"\N{NO-BREAK SPACE}{Unit.PERCENT}"


def size(log: float, measure: str) -> str:
    """The same in a sentence."""
    return plain(effect(log, measure))


def percent(log: float, measure: str) -> float:
    """The effect in percent of what is usual: more latency, a longer tail, less bandwidth."""
    return 100 * math.expm1(-log if measure == BANDWIDTH else log)


def amount(value: float, unit: str, digits: int = 3) -> Quantity:
    """A value with its unit; seconds as microseconds."""
    if unit == Unit.S:
        return units.amount(value * units.TIMES[Unit.US], Unit.US, digits)
    return units.amount(value, unit, digits)


def interval(one: Evidence) -> str:
    """``[31, 45]`` in the unit of `size`; "" without one."""
    test, measure = one.tested, measure_name(one).measure
    if test.low is None or test.high is None:
        return ""
    if measure != BANDWIDTH and math.exp(test.effect) >= _FACTOR:
        low, high = math.exp(test.low), math.exp(test.high)
        return f" {Quantity(value=low, unit=Unit.RATIO, low=low, high=high).bounds}"
    low, high = sorted(percent(end, measure) for end in (test.low, test.high))
    quantity = Quantity(value=low, unit=Unit.PERCENT, low=low, high=high, decimals=0)
    return f" {quantity.bounds}"


def holds_none(one: Evidence) -> bool:
    """Whether the interval of the median holds no effect: some launches saw none, most did.

    What names a unit is `q`, of all its launches together.
    """
    return one.tested.low is not None and one.tested.low <= 0


def chance(q: float) -> Quantity | str:
    """A chance of a false discovery, with six digits."""
    return "below 0.000001" if q < 1e-6 else Quantity(value=q, unit=Unit.PURE, decimals=6)


def named(one: Outlier, found: NodeVerdicts, processor: SlowProcessor | None = None) -> str:
    """``latency +38 % [31, 45] with all 15 partners, two nights``; the strongest evidence.

    Of a node with a slow `processor` that comes first.
    """
    if processor:
        return f"{slow(processor)}; {named(one, found)}"
    # What is between nodes comes first: its partners say whose effect it is.
    first = min(one.evidence, key=lambda evidence: measure_name(evidence).is_alone)
    test, name = first.tested, measure_name(first)
    other_count = len(
        {measure_name(evidence).measure for evidence in one.evidence} - {name.measure}
    )
    suffix = f"; and {units.plural(other_count, 'other measure')}" if other_count else ""
    effect_text = f"{describe_measure(name)} {size(test.effect, name.measure)}{interval(first)}"
    reason = f"; q {chance(first.q)}, not the interval, names it" if holds_none(first) else ""
    partners = _with(one, first, found.sight[first.measure].measured)
    return f"{effect_text}{partners}, {counted(test.nights, 'night')}{suffix}{reason}"


def slow(one: SlowProcessor) -> str:
    """``its processor is slow: inside the node, without the network, latency +98 %, ...``."""
    effects = ", ".join(
        f"{_MEASURES[measure]} {size(effect, measure)}" for measure, effect in one.effects
    )
    state = "stands still at times" if one.pauses else "is slow"
    detail = f"inside the node, without the network, {effects}"
    return f"its processor {state}: {detail} ({units.plural(one.launches, 'launch', 'launches')})"


def flaky_title(one: Flaky, mark: str, verdict: str = "is flaky") -> str:
    """``node-1a2b is flaky (EMULATED NODES)``, or ``One of node-1a2b and node-3c4d is flaky``."""
    if len(one.names) > 1:
        return f"One of {' and '.join(one.names)} {verdict}{mark}"
    return f"{one.names[0]} {verdict}{mark}"


def flaky(one: Flaky, how: str) -> str:
    """``8 of 25 launches on it failed, 1 of 300 elsewhere, two nights``; `how`: ``failed``."""
    (bad, count), (far_bad, far_count) = one.here, one.elsewhere
    on = "on it" if len(one.names) == 1 else "on either"
    nights = counted(one.nights, "night")
    counts = f"{bad} of {count} launches {on} {how}, {far_bad} of {far_count} elsewhere, {nights}"
    if len(one.names) > 1:
        counts += f"; they {how} only together: launches with other partners decide which it is"
    return f"{counts}."


def describe_measure(name: Name) -> str:
    """``latency``, ``mean over median of short messages``, ``bandwidth inside the node``."""
    place = " inside the node" if name.is_alone else ""
    return f"{_MEASURES[name.measure]}{place}"


def where(name: Name, marks: Mapping[str, str]) -> str:
    """``partition cluster, openmpi41-boost181 (EMULATED NODES)``; `marks`: by environment."""
    return f"{name.place}, {name.environ}{marked([name.environ], marks)}"


def marked(environs: Iterable[str], marks: Mapping[str, str]) -> str:
    """`` (EMULATED NODES)``, what is said of these environments; "" of real hardware."""
    kinds = sorted({marks[environ] for environ in environs if marks.get(environ)})
    return f" ({'; '.join(kinds)})" if kinds else ""


def title(one: Outlier, marks: Mapping[str, str]) -> str:
    """``node-1a2b is sick (EMULATED NODES)``; `marks`: by environment."""
    mark = marked((measure_name(evidence).environ for evidence in one.evidence), marks)
    if one.kind is Kind.LINK:
        return f"The link {one.name} is sick{mark}"
    if one.kind is Kind.SWITCH:
        return f"{one.name} is sick, with {counted(len(one.members), 'node')}{mark}"
    return f"{one.name} is sick{mark}"


def healthy(judged: NodeVerdicts, marks: Mapping[str, str]) -> str:
    """``No node stands out of 32; latency +100 µs, bandwidth -40 % would have been seen``.

    Where these launches can show nothing: how many more rounds would do.  `marks`: by environment.
    """
    mark = marked((name.environ for name in judged.sight if isinstance(name, Name)), marks)
    count = units.plural(len(judged.nodes), "node")
    effect_texts: dict[str, str] = {}
    for name, sight in judged.sight.items():
        if sight.would_see is not None and isinstance(name, Name):
            effect_texts.setdefault(describe_measure(name), _seen(name, sight.would_see))
    if not effect_texts:
        rounds = min((sight.rounds for sight in judged.sight.values()), default=0)
        need = f"needs {units.plural(max(1, rounds), 'more round')}" if judged.sight else _FEW
        return f"Cannot judge {count}{mark}: {need}."
    effects = ", ".join(effect_texts[key] for key in sorted(effect_texts, key=_order)[:2])
    return f"No node stands out of {len(judged.nodes)}{mark}; {effects} would have been seen."


_FEW = "too few nodes were measured"


def too_few(some: tuple[TooFew, ...]) -> str:
    """``Cannot judge 3 nodes: needs 2 more rounds``."""
    rounds = max(node.rounds for node in some)
    count = units.plural(len(some), "node")
    return f"Cannot judge {count}: needs {units.plural(rounds, 'more round')}."


def counted(count: int, one: str) -> str:
    """``two nights``: a small number in words."""
    number = _COUNTS[count] if count < len(_COUNTS) else str(count)
    return f"{number} {one}{'s' * (count != 1)}"


def _with(outlier: Outlier, evidence: Evidence, nodes: int) -> str:
    """`nodes` of its partition were measured: a node meets no others."""
    test, name = evidence.tested, measure_name(evidence)
    if outlier.kind is Kind.LINK or name.is_alone:
        return f", {units.plural(test.launches, 'launch', 'launches')}"
    partner_count = nodes - len(outlier.members)
    if test.partners >= partner_count:
        return f" with all {partner_count} partners"
    return f" with {test.partners} of {partner_count} partners"


def _seen(name: Name, effect: float) -> str:
    if name.measure == LATENCY:
        return f"latency +{amount(math.expm1(effect) * name.level, Unit.S, 2)}"
    return f"{describe_measure(name)} {size(effect, name.measure)}"


def _order(words: str) -> int:
    for place, prefix in enumerate(("latency", "bandwidth", "tail")):
        if words == prefix or (prefix == "tail" and words.startswith(prefix)):
            return place
    return 3
