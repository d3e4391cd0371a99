"""The history page as text: what it says of each series, and that it says it again."""

import json
import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from support import years
from support.nights import start_time

from roundtrip.content.nights import judge_all_series, judge_series
from roundtrip.content.series import HistorySeries, display_unit, series_key, split_series
from roundtrip.history.annotations import accepted_levels
from roundtrip.report.drawing import plot_drawings
from roundtrip.report.pages import answers, chart, history
from roundtrip.report.pages.answers import night_pairs, series_with_figures
from roundtrip.report.pages.history import HistoryPage
from roundtrip.stats.nights.verdicts import (
    LevelDrift,
    NewestNight,
    Segment,
    SeriesHistory,
    Step,
    Verdict,
)
from roundtrip.units import NO_VALUE, Quantity

HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=1>'
STEP = Step(79, 1.08, 1.07, 1.09, 8.6, 4.3, 11)


@pytest.fixture(scope="module")
def generated() -> HistoryPage:
    return years.make_history(40, 90)


@pytest.fixture(scope="module")
def page(generated: HistoryPage) -> str:
    return history.render_page(generated)


def rows(page: str) -> list[str]:
    """The text of each row of the table of series, without its picture."""
    table = re.search(r'<table id="rows" class="verdicts">.*?<tbody>(.*?)</tbody>', page, re.S)
    assert table
    markup = re.findall(r"<tr.*?</tr>", re.sub(r"<svg.*?</svg>", "", table[1], flags=re.S), re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in markup]


def answer_text(page: str) -> str:
    return re.sub(r"<[^>]+>", "", page.split('<ul class="answers">')[1].split("</ul>")[0])


def data(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert match
    content: dict[str, Any] = json.loads(match[1])
    return content


def test_the_same_history_gives_the_same_bytes_in_any_order(generated: HistoryPage) -> None:
    nights = generated.nights.sample(fraction=1.0, shuffle=True, seed=3)
    provenance = generated.provenance.sample(fraction=1.0, shuffle=True, seed=4)
    shuffled_history = replace(generated, nights=nights, provenance=provenance)
    assert history.render_page(shuffled_history) == history.render_page(generated)


def test_every_series_is_a_row_and_what_changed_comes_first(page: str) -> None:
    row_texts = rows(page)
    verdicts = [next(v for v in Verdict if f" {v} " in f" {row} ") for row in row_texts]
    assert len(row_texts) == 40
    assert verdicts == sorted(verdicts, key=list(Verdict).index)
    counts = {"regressed": 4, "improved": 4, "drifting": 4, "unchanged": 28}
    assert {str(verdict): verdicts.count(verdict) for verdict in verdicts} == counts
    # Of the regressed, the one with the largest statistic; then by how much less each has.
    assert [row.split(" half")[0] for row in row_texts[:2]] == ["mpi, 8 B", "mpi, 4 B"]


def test_rows_and_answers_say_ratio_night_cause_and_what_would_be_seen(page: str) -> None:
    row = rows(page)[0]
    assert "1.110 [1.099, 1.121]" in row
    assert "night 79, 2026-03-20 UCX (openmpi41-boost181): 1.16.0 → 1.17.0" in row
    assert row.endswith("2.9 %")
    text = answer_text(page)
    assert "New: 4 series regressed since night 79, 2026-03-20: mpi, 8" in text
    assert " (and 3 others): 1.08 to 1.11 times the level" in text
    assert "Changed then: UCX (openmpi41-boost181): 1.16.0 → 1.17.0." in text
    assert "4 series improved since night 74" in text
    assert "Changed then: nothing that is recorded." in text
    assert "28 of 40 series are unchanged. Half of them would have shown a step of 3.1" in text


def is_series(identity: dict[str, Any]) -> pl.Expr:
    return pl.all_horizontal(pl.col(name) == value for name, value in identity.items())


def young(generated: HistoryPage, *numbers: int) -> HistoryPage:
    """These nights of a history, as if no series could be judged yet."""
    nights = list(map(start_time, numbers))
    first_nights = generated.nights.filter(pl.col("night").is_in(nights))
    histories = {
        names: SeriesHistory(len(nights), reason="too few") for names in generated.series_histories
    }
    young_history = replace(generated, nights=first_nights, series_histories=histories)
    return replace(young_history, night_notes=(), report_link_by_night={})


def test_one_night_is_a_table_of_its_values_without_columns_for_another(
    generated: HistoryPage,
) -> None:
    page = history.render_page(young(generated, 0))
    assert "The values of the first night" in page
    assert "Night before" not in page and "Distance" not in page
    assert page.count("<tr data-key=") == 40
    second_page = history.render_page(young(generated, 0, 1))
    assert "Last night beside the night before" in second_page and "Distance" in second_page


def test_two_sets_of_nodes_in_one_night_are_no_two_nights(generated: HistoryPage) -> None:
    single_set = young(generated, 0)
    other_rows = single_set.nights.with_columns(
        nodes=pl.lit("elsewhere"), median=3 * pl.col("median")
    )
    both_sets = replace(single_set, nights=pl.concat([single_set.nights, other_rows]))
    for pair in night_pairs(both_sets.verdicts):
        points = pair.series.data.points
        assert len(points) == 2 and not pair.night_before_value and not pair.ratio
        if all(point.left_out for point in points):
            assert pair.last_night_value == NO_VALUE
            continue
        assert isinstance(pair.last_night_value, Quantity)
        median = next(point.median for point in points if point.nodes == "elsewhere")
        assert pair.last_night_value.value == pytest.approx(shown(median, pair.series.data))


def test_last_night_is_the_newest_of_the_site_and_what_is_left_out_is_no_value_of_it(
    generated: HistoryPage,
) -> None:
    """One series lacks the last night, of another it is left out: neither has an older value."""
    names = [night_series.identity for night_series in split_series(generated.nights)][:2]
    is_one, is_other = map(is_series, names)
    is_last = pl.col("night") == start_time(89)
    reasons = pl.when(is_other & is_last).then(pl.lit("disturbed")).otherwise(pl.lit(""))
    nights = generated.nights.filter(~(is_one & is_last)).with_columns(left_out=reasons)
    page = history.render_page(replace(generated, nights=nights))
    keys = [series_key(one) for one in names]
    for key in keys:
        row = re.search(rf'<tr data-key="{key}".*?</tr>', page, re.S)
        assert row and f'data-label="Last night"><span>{NO_VALUE}</span>' in row[0]
    young_history = young(replace(generated, nights=nights), 87, 88, 89)
    pairs = {pair.series.data.key: pair for pair in night_pairs(young_history.verdicts)}
    for key in keys:
        pair = pairs[key]
        before = next(p.median for p in pair.series.data.points if p.night == start_time(88))
        assert isinstance(pair.night_before_value, Quantity)
        assert pair.night_before_value.value == pytest.approx(shown(before, pair.series.data))
        assert (pair.last_night_value, pair.ratio, pair.distance) == (NO_VALUE, NO_VALUE, "")


def test_figures_stay_where_the_table_of_two_nights_leaves_values_out(
    generated: HistoryPage,
) -> None:
    first_nights = young(generated, 0, 1)
    kept = replace(first_nights, nights=first_nights.nights.with_columns(left_out=pl.lit("")))
    assert not series_with_figures(kept.verdicts)
    left_out = first_nights.nights.with_columns(left_out=pl.lit("disturbed"))
    one = first_nights.nights["case_id"].first(), first_nights.nights["size_bytes"].first()
    lines = series_with_figures(replace(first_nights, nights=left_out).verdicts)
    assert len(lines) == len(kept.verdicts.judged_series)
    is_one = (pl.col("case_id") == one[0]) & (pl.col("size_bytes") == one[1])
    some = kept.nights.with_columns(
        left_out=pl.when(is_one).then(pl.lit("disturbed")).otherwise(pl.lit(""))
    )
    assert 0 < len(series_with_figures(replace(first_nights, nights=some).verdicts)) < len(lines)


def test_the_level_before_a_step_is_the_one_its_ratio_is_over(generated: HistoryPage) -> None:
    """After two steps, nights of the level before the first are not in it."""
    segments = Segment(0, 30, 1e-6), Segment(30, 79, 2e-6), Segment(79, 90, 3e-6)
    stepped = SeriesHistory(90, (replace(STEP, night=30), STEP), segments)
    histories = dict.fromkeys(generated.series_histories, stepped)
    line = replace(generated, series_histories=histories).verdicts.judged_series[0]
    assert isinstance(line.level_before, Quantity)
    assert line.level_before.value == pytest.approx(shown(2e-6, line.data))


def shown(value: float, series: HistorySeries) -> float:
    return value * display_unit(series)[0]


def test_what_others_wrote_stays_text(generated: HistoryPage) -> None:
    nights = generated.nights.with_columns(
        variant=pl.lit(HOSTILE), case_id=pl.col("case_id") + pl.lit(HOSTILE), nodes=pl.lit(HOSTILE)
    )
    histories = {
        tuple(night_series.identity.values()): SeriesHistory(90, reason=HOSTILE)
        for night_series in split_series(nights)
    }
    notes = [(start_time(3), HOSTILE)]
    facts = generated.provenance.with_columns(value=pl.col("value") + pl.lit(HOSTILE))
    names = "c" + HOSTILE, HOSTILE
    content = nights, facts, histories, generated.settings, notes
    page = history.render_page(HistoryPage(*names, *content, notices=((HOSTILE,),)))
    assert len(re.findall(r"<script", page)) == 2
    assert "<img" not in page
    assert "owned" in page


def test_a_year_of_a_series_takes_less_than_thirty_kilobytes() -> None:
    assert len(history.render_page(years.make_history(40, 365)).encode()) < 40 * 30_000 + 100_000


def test_nights_stand_at_even_distances() -> None:
    verdicts = years.make_history(2, 20).verdicts
    drawing = str(plot_drawings("one", chart.series_plot(verdicts.judged_series[0], verdicts))[0])
    frame = re.search(r'data-frame="([^"]+)"', drawing)
    assert frame
    left, _, right, _ = map(float, frame[1].split())
    marks = drawing[drawing.index('class="marks"') : drawing.index('class="names"')]
    places = [float(text) for text in re.findall(r'class="dot"[^>]* cx="([^"]+)"', marks)]
    assert len(places) > 2
    for place in places:
        night = (place - left) / (right - left) * 20 - 0.5
        assert night == pytest.approx(round(night), abs=0.01)


def test_a_link_to_each_report_and_a_night_without_one(generated: HistoryPage) -> None:
    linked_history = replace(
        generated, report_link_by_night={start_time(89): "2026-03-31/r1/report.html"}
    )
    page = history.render_page(linked_history)
    assert page.count('<a href="2026-03-31/r1/report.html">2026-03-31</a>') == 2
    assert '<th scope="row">2026-03-30</th>' in page


@pytest.mark.parametrize(
    ("series", "verdict"),
    [
        (SeriesHistory(90, (STEP,)), Verdict.REGRESSED),
        (SeriesHistory(90, (STEP,), lower_is_better=False), Verdict.IMPROVED),
        (SeriesHistory(90, drift=LevelDrift(1.1, 1.05, 1.2)), Verdict.DRIFTING),
        (SeriesHistory(90), Verdict.UNCHANGED),
        (SeriesHistory(90, (STEP,), drift=LevelDrift(1.1, 1.05, 1.2)), Verdict.REGRESSED),
        (SeriesHistory(3, reason="3 nights"), Verdict.TOO_FEW_NIGHTS),
    ],
)
def test_verdicts(series: SeriesHistory, verdict: Verdict) -> None:
    assert judge_series(series).verdict is verdict


def test_news_comes_first_and_a_last_night_that_stands_out_before_quiet_ones() -> None:
    old = judge_series(SeriesHistory(90, (replace(STEP, evidence=99.0, nights=40),)))
    new = judge_series(SeriesHistory(90, (STEP,)))
    assert new.is_recent > old.is_recent
    assert new.sort_key < old.sort_key
    loud, quiet = (
        judge_series(SeriesHistory(90, newest_night=NewestNight(ratio, 0.9, 1.1, is_outside)))
        for ratio, is_outside in ((1.2, True), (1.0, False))
    )
    assert loud.ratio_text == "1.200 last night"
    assert quiet.ratio_text == ""
    assert loud.sort_key < quiet.sort_key


def test_a_step_with_other_nodes_names_them(generated: HistoryPage) -> None:
    """The steps of those that improved are at night 74, counted from 1."""
    is_new = pl.col("night") >= start_time(73)
    new, old = (pl.lit(f"node-000000aa+node-000000{name}") for name in ("cc", "bb"))
    nights = generated.nights.with_columns(nodes=pl.when(is_new).then(new).otherwise(old))
    page = history.render_page(replace(generated, nights=nights))
    row = next(row for row in rows(page) if " improved " in f" {row} ")
    difference = "node set: node-000000aa, node-000000bb → node-000000aa, node-000000cc"
    assert row.split("night 74, ")[1].removeprefix("2026-03-15 ").startswith(difference)
    assert f"Changed then: {difference}." in answer_text(page)
    regressed_row = next(row for row in rows(page) if " regressed " in f" {row} ")
    assert "UCX" in regressed_row and "node set" not in regressed_row


def test_a_series_without_a_value_last_night_names_its_last_one(generated: HistoryPage) -> None:
    history = SeriesHistory(80, nights_without_value=10)
    histories = dict.fromkeys(generated.series_histories, history)
    judged = replace(generated, series_histories=histories).verdicts.judged_series
    reasons = {each.judgement.reason for each in judged}
    assert reasons == {f"last value that counts: {start_time(79)[:10]}"}


def test_series_that_differ_in_system_or_unit_alone_have_names_of_their_own(
    generated: HistoryPage,
) -> None:
    def names(*frames: pl.DataFrame) -> list[str]:
        return [f"{one.title}; {one.subtitle}" for one in split_series(pl.concat(frames))]

    mine = generated.nights.filter(is_series(next(split_series(generated.nights)).identity))
    system = mine.with_columns(pl.col("case_id").str.replace("@[^:]*:", "@rose:"))
    label = f"{names(mine)[0]}*"
    accepted = accepted_levels(pl.DataFrame({"until": ["9999"], "series": [label], "text": ["x"]}))
    judged = judge_all_series(
        pl.concat([mine, system]), generated.provenance, generated.settings, accepted
    )
    assert all(each.acceptance for each in judged.judged_series)
    samples = pl.concat([mine, system]).with_columns(case=pl.lit("FFT2/other"))
    assert len({*names(mine, system, samples)}) == 4
    unit = mine.with_columns(unit=pl.lit("us"))
    for other, mark in ((system, "@rose:"), (unit, "(us)")):
        one, two = names(mine, other)
        assert one != two and mark in one + two


def test_nights_that_a_series_lacks_keep_their_place(generated: HistoryPage) -> None:
    first = next(split_series(generated.nights))
    is_missing = pl.col("night").is_in([start_time(4), start_time(5)])
    gap = generated.nights.filter(~(is_series(first.identity) & is_missing))
    records = data(history.render_page(replace(generated, nights=gap)))["series"]
    record = next(record for record in records if record["key"] == first.key)
    assert record["night"] == [0, 4, 6, 84]


def test_the_page_names_the_level_and_the_nights_of_the_settings() -> None:
    generated = years.make_history(20)
    settings = {"confidence_level": 0.9, "sight_nights": 20, "sight_power": 0.8}
    page = history.render_page(
        replace(generated, settings=generated.settings.model_copy(update=settings))
    ).replace("\u00a0", " ")
    assert "its 90 % interval" in page
    assert "20 more nights would show with a probability of 80 %." in page
    assert "would show within 20 nights" in page
    assert not re.search(r"95 %|10 (more )?nights", page)


@pytest.mark.parametrize(
    ("count", "predicate", "expected"),
    [
        (1, "have no value", "1 of 4 series has no value"),
        (1, "drift", "1 of 4 series drifts"),
        (2, "are unchanged", "2 of 4 series are unchanged"),
    ],
)
def test_one_series_drifts_and_two_drift(count: int, predicate: str, expected: str) -> None:
    assert answers._share_clause(count, 4, predicate) == expected
