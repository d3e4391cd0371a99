"""What follows from the declaration alone of a study: its values are those of samples."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from support.measured import METRIC, STUDY, Measured, bundle, launch_samples

from roundtrip.measure import analysis
from roundtrip.report.blocks import Cell
from roundtrip.report.units import printable
from roundtrip.stats.summaries import Kind
from roundtrip.stats.verdicts import judge
from roundtrip.studies.derivation import SPEEDS
from roundtrip.studies.study import BLUE, ORANGE, Arm, Contrast, PlannedCase, Study, anywhere

SIZES = (8, 1 << 20)


class Declared(Study):
    """Two arms of one metric, without any module."""

    name, title, question = STUDY, "Exchange", "Is a put faster than a send?"
    arms = {"put": Arm("Put", BLUE), "send": Arm("Send", ORANGE)}
    metrics = (METRIC,)
    contrasts = (Contrast("put", "send", "put over send", is_primary=anywhere),)


class OverSize(Declared):
    """The same at two sizes."""

    def sizes(self, settings: analysis.Analysis) -> tuple[int, ...]:
        return SIZES


class Rates(Declared):
    """Of a metric of which more is better."""

    metrics = ("bandwidth",)


def test_figures_are_named_by_arm_size_and_unit() -> None:
    seconds = {("put", 8): [1e-6], ("put", 64): [2e-6], ("put", 1 << 20): [1e-4]}
    figures = Declared().summarise(launch_samples({**seconds, ("send", 8): [3e-6]}))
    assert figures == {
        "put_8B_us": (pytest.approx(1.0), "us"),
        "put_1MiB_us": (pytest.approx(100.0), "us"),
        "send_8B_us": (pytest.approx(3.0), "us"),
    }
    samples = launch_samples({("put", 0): [12.0]}, metric="bandwidth", unit="MB/s")
    rates = Rates().summarise(samples)
    assert rates == {"put_MB_per_s": (12.0, "MB/s")}
    assert Declared().summarise(launch_samples({})) == {}


def test_toolchains_are_compared_by_each_arm_at_each_compared_size() -> None:
    data = bundle([Measured("C", {"put": 10, "send": 20}, launches=2, sizes=(8, 64, 1 << 20))])
    speeds = OverSize().speeds(data.samples, data.analysis)
    assert dict(speeds.schema) == SPEEDS
    assert speeds.select("what", "size_bytes").unique().sort("what", "size_bytes").rows() == [
        ("Put", 8),
        ("Put", 1 << 20),
        ("Send", 8),
        ("Send", 1 << 20),
    ]
    puts = speeds.filter(pl.col("what") == "Put", pl.col("size_bytes") == 8)
    assert puts["value"].to_list() == pytest.approx([80.0, 88.0])
    assert set(speeds["unit"]) == {"µs"} and speeds["lower_is_better"].all()


@pytest.mark.parametrize(
    ("study", "sizes", "values"),
    [
        (Declared(), (0,), "Put 13.5 [10.0, 17.0], Send 43.5 [40.0, 47.0] µs. "),
        (OverSize(), SIZES, "Put 108 [80.0, 136], Send 348 [320, 376] µs at 8 B. "),
    ],
)
def test_it_claims_in_the_report_what_it_plans(
    study: Study, sizes: tuple[int, ...], values: str
) -> None:
    data = bundle([Measured("C", {"put": 10, "send": 40}, sizes=sizes)])
    case = PlannedCase("C", STUDY, "Check", "local:smp", "openmpi")
    (plan,) = study.primary_claims([case], data.analysis)
    section = study.section(data)
    assert section is not None
    claims = section.claims()
    assert plan.count == len(claims) == len(sizes)
    part = section.part(judge(claims, data.analysis.statistics))
    (answer,), (panel,) = part.answers, part.panel_answers
    assert answer.text == ("Put is 3.2 times as fast.",)
    assert panel.tone == "plain"
    assert printable(str(panel.text[1])) == f": {values}Put is 3.2 times as fast."
    numbers, verdicts = part.tables
    assert len(numbers.rows) == len(sizes)
    ((name, *ratios),) = verdicts.rows
    assert str(name.text) == "Put against Send: Open MPI, 2 ranks in one node"
    assert len(ratios) == len(sizes)
    (figure,) = part.figures
    assert figure.alt == "Operation time: Open MPI, 2 ranks in one node"


def test_a_rate_is_better_where_it_is_higher() -> None:
    data = bundle([Measured("C", {"put": 40, "send": 10})])
    rates = data.samples.with_columns(metric=pl.lit("bandwidth"), unit=pl.lit("MB/s"))
    data, study = replace(data, samples=rates), Rates()
    section = study.section(data)
    assert section is not None
    ((ratios),) = section.claims().values()
    assert min(ratios) > 2.5
    assert not study.speeds(data.samples, data.analysis)["lower_is_better"].any()
    assert {summary.kind for summary in study.facts().summaries} == {Kind.RATE}


def test_an_arm_without_a_launch_is_a_warning_and_no_number() -> None:
    study = Declared()
    section = study.section(bundle([Measured("C", {"put": 10})]))
    assert section is not None
    assert section.claims() == {}
    part = section.part({})
    assert [answer.tone for answer in part.panel_answers] == ["warn"]
    assert "was not compared with Send" in str(part.answers[0].text[0])
    verdicts = part.tables[1]
    assert verdicts.rows[0][1] == Cell("not measured", "muted")
