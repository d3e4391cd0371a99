"""What the cells of each table must be, as `collect.schemas` has it for records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from roundtrip.collect import samples, schemas, shapes, simulation, timing
from roundtrip.studies.metrics import METRICS

STATUSES = ("passed", "partial", "failed", "displaced", "missing", "skipped")
_MOST_RANKS = 2**31
_MOST_AMOUNT = 1e15
_MOST_LOG = 100.0
_CONTROL = r"[\x00-\x1f\x7f-\x9f\x{2028}\x{2029}\x{feff}]"
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
_NO_HOST = rf"\s|{_CONTROL}"


@dataclass(frozen=True)
class Rule:
    """`holds` is true of every cell of `column`; of a null too, unless it is `always` there."""

    column: str
    holds: pl.Expr
    told: str
    always: bool = False

    @property
    def broken(self) -> pl.Expr:
        """Whether a row breaks the rule."""
        good = pl.col(self.column).is_null() & (not self.always) | self.holds
        return ~good.fill_null(False)


def _number(name: str, least: float, most: float, always: bool = False) -> Rule:
    return Rule(name, pl.col(name).is_between(least, most), f"from {least:g} to {most:g}", always)


def _amount(name: str) -> Rule:
    return _number(name, 0, _MOST_AMOUNT)


def _count(name: str, always: bool = False) -> Rule:
    return _number(name, 0, samples.MOST_COUNT, always)


def _fits(text: pl.Expr, most: int) -> pl.Expr:
    return text.str.len_chars().is_between(1, most) & ~text.str.contains(_CONTROL)


def _text(name: str, most: int, always: bool = True) -> Rule:
    told = f"a text of 1 to {most} printable characters"
    return Rule(name, _fits(pl.col(name), most), told, always)


def _short(name: str, most: int) -> Rule:
    return Rule(name, pl.col(name).str.len_chars() <= most, f"a text of up to {most}", True)


def _is_time(name: str) -> pl.Expr:
    """Whether a text is a time of the calendar, UTC."""
    found = pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%SZ", strict=False)
    return pl.col(name).str.contains(TIME) & found.is_not_null()


def _sha256(name: str, always: bool = False) -> Rule:
    return Rule(name, pl.col(name).str.contains("^[0-9a-f]{64}$"), "a sha256", always)


def _simulated(name: str) -> Rule:
    """Is told of each simulated launch that passed, unless it may be missing, and of no other."""
    told = (pl.col("simulated") & (pl.col("status") == "passed")).fill_null(False)
    column, may_be_missing = pl.col(name), name.removeprefix("simulated_") in simulation.OPTIONAL
    right = column.is_null() | told if may_be_missing else column.is_not_null() == told
    return Rule(name, right, "what `simulated` says", True)


def _one_of(name: str, words: Sequence[str], always: bool = False) -> Rule:
    return Rule(name, pl.col(name).is_in(words), f"one of {', '.join(words)}", always)


def _is_host(text: pl.Expr) -> pl.Expr:
    return text.str.len_chars().is_between(1, 255) & ~text.str.contains(_NO_HOST)


def _each(name: str, holds: pl.Expr, told: str) -> Rule:
    """Of each element of a list."""
    return Rule(name, pl.col(name).list.eval(holds).list.all(), told)


_ELEMENT = pl.element()
_LOADS = tuple(
    _each(
        f"load_average_{when}",
        _ELEMENT.is_null() | _ELEMENT.is_between(0, _MOST_AMOUNT),
        "a list of load averages",
    )
    for when in ("start", "end")
)
_SETTINGS = (
    _text("name", 1000),
    _short("value", 20_000),
    Rule("number", pl.col("number").is_finite(), "a finite number"),
)
_ENDS = ("low", "median", "high")
_LOW, _HIGH = pl.col("low"), pl.col("high")
_IN_ORDER = (_LOW.is_null() & _HIGH.is_null()) | pl.col("median").is_between(_LOW, _HIGH)
_UNITS = {name: known.unit for name, known in METRICS.items()}
_IS_UNIT = pl.col("metric").replace_strict(_UNITS, default=None) == pl.col("unit")
_NIGHT = (
    Rule("night", _is_time("night"), "a time as 2026-11-21T07:00:00Z", True),
    _sha256("digest", True),
)
#: Of what is emulated these are always numbers.
_AMOUNTS = pl.col("name").is_in(["wan_rtt_ms", "hub_mbit_s"])
RULES: Mapping[str, Sequence[Rule]] = {
    "cases": (
        _one_of("status", STATUSES, True),
        _number("elapsed_s", 0, samples.MOST_VALUE),
        _number("ranks", 1, _MOST_RANKS),
        *map(_count, ("warmup_discarded", "taken")),
        _number("campaign_round", 1, _MOST_RANKS),
        _number("wanted", 0, _MOST_RANKS),
        *map(_amount, ("steal_s", "clock_resolution_s", "clock_overhead_s")),
        *(_one_of(name, words) for name, words in timing.COLUMNS.items()),
        Rule(
            "mpi_build",
            pl.col("mpi_build").str.contains(r"^(gnu:[0-9a-f]{1,128}|sha256:[0-9a-f]{64})$"),
            "gnu: or sha256: and digits",
        ),
        _text("simulated_simgrid", 200, False),
        _text("simulated_platform", 200, False),
        _sha256("simulated_platform_sha256"),
        _number("simulated_host_flops", 5e-324, _MOST_AMOUNT),
        *(_simulated(name) for name in simulation.COLUMNS),
        *_LOADS,
        _each(
            "hosts",
            _is_host(_ELEMENT).fill_null(False),
            "a list of hosts",
        ),
    ),
    "points": (
        _text("case", 200),
        _text("variant", 200),
        _text("status", 1000),
        _count("size_bytes", True),
        _count("samples", True),
        *map(_count, ("batch", "inner", "discarded")),
        *map(_amount, ("median_s", "ci_relative_half_width")),
    ),
    "parameters": _SETTINGS,
    "emulation": (
        *_SETTINGS,
        Rule(
            "number",
            ~_AMOUNTS | pl.col("number").is_between(0, _MOST_AMOUNT).fill_null(False),
            f"from 0 to {_MOST_AMOUNT:g} for what is emulated",
            True,
        ),
    ),
    "placement": (
        _count("rank", True),
        Rule("host", _is_host(pl.col("host")), "a name of a host", True),
        _each("cpus", _ELEMENT.is_not_null(), "a list of processors"),
        Rule("switch", _is_host(pl.col("switch")), "a name of a switch"),
    ),
    "nodes": (
        Rule("host", _is_host(pl.col("host")), "a name of a host", True),
        *(_text(name, 1000, always=False) for name in schemas.NODE_FACTS),
        _each(
            "adapters",
            _fits(_ELEMENT, 1000).fill_null(False),
            "a list of texts of 1 to 1000 printable characters",
        ),
    ),
    "disturbance": (
        _count("rank", True),
        *(
            _count(name)
            if kind is shapes.COUNTS
            else _number(name, 0 if kind is shapes.NUMBERS else -_MOST_AMOUNT, _MOST_AMOUNT)
            for name, kind in schemas.RANK_DISTURBANCE.items()
        ),
    ),
    "medians": (
        *(_text(name, 200) for name in ("case", "variant", "phase")),
        _count("size_bytes", True),
        _number("samples", 1, samples.MOST_COUNT, True),
        _number("campaign_round", 1, _MOST_RANKS),
        *(_number(name, 0, samples.MOST_VALUE, name == "median") for name in _ENDS),
        Rule("low", _IN_ORDER, "the lower end of an interval around the median", True),
        Rule("unit", _IS_UNIT, "the unit of the metric", True),
        _short("nodes", 100_000),
    ),
    "nights": (
        *_NIGHT,
        *(_text(name, 2000) for name in ("case_id", "study", "case", "variant", "phase", "metric")),
        *(_short(name, most) for name, most in (("unit", 200), ("nodes", 100_000))),
        _short("left_out", 2000),
        *(_count(name, True) for name in ("size_bytes", "launches", "disturbed")),
        *(_number(name, 0, samples.MOST_VALUE, name == "median") for name in _ENDS),
        Rule("low", _IN_ORDER, "the lower end of an interval around the median", True),
        *(
            Rule(name, pl.col(name).is_not_null(), "yes or no", True)
            for name in ("lower_is_better", "foreign")
        ),
    ),
    "notes": (_NIGHT[0], _text("text", 2000)),
    "accepted": (_text("until", 40), _text("series", 500), _text("text", 2000)),
    "pairs": (
        *_NIGHT,
        *(_text(name, 2000) for name in ("launch", "study", "place", "environ")),
        _count("round", True),
        Rule("host", _is_host(pl.col("host")), "a name of a host", True),
        *(_short(name, 255) for name in ("other", "switch", "other_switch", "unit")),
        _one_of("measure", ("latency", "tail", "bandwidth", "failure"), True),
        _number("excess", -_MOST_LOG, _MOST_LOG, True),
        _number("level", 0, samples.MOST_VALUE, True),
    ),
    "provenance": (
        *_NIGHT,
        *(_short(name, 2000) for name in ("subject", "value")),
        _text("name", 2000),
    ),
}
