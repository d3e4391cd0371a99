"""Launches that were made again: by which rule they confirm, how often it errs, what is said."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bundles import redigest_bundle
from support.command import parse_answer, run_roundtrip
from support.nights import CAMPAIGN, NODE_PSEUDONYM, SITE, NightWriter

from roundtrip.content import data
from roundtrip.history import ledger
from roundtrip.measure import manifest, records, store
from roundtrip.report import confirmation, renderers
from roundtrip.report.build import build_report
from roundtrip.report.confirmation import (
    Confirmation,
    ConfirmationResult,
    SignTest,
    judge_repetitions,
)
from roundtrip.report.pages import write
from roundtrip.report.sections import history
from roundtrip.stats.nights.verdicts import Verdict

LEVEL = 0.05
NIGHTS = 20
#: Of 54 series: the first 50 are one case, the rest another.
SERIES, CASES = 54, ["NetPIPE/number=00", "NetPIPE/number=01"]


def slower(factor: float, *numbers: int) -> Callable[[int, Any], Any]:
    """The last night's values of series by number; of all without one."""

    def change(number: int, series: Any) -> Any:
        factors = np.ones(series.height)
        if number >= NIGHTS - 1:
            factors[list(numbers) or slice(None)] = factor
        return factors

    return change


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nights whose newest takes three times as long in two series of the first case."""
    folder = tmp_path_factory.mktemp("nights")
    NightWriter(folder, SERIES, launches=2, samples=2, change=slower(3.0, 3, 7)).write(NIGHTS)
    return folder


@pytest.fixture
def revision(nights: Path, tmp_path: Path) -> Path:
    """The newest night, whose campaign asks for confirmation."""
    shutil.copytree(nights, tmp_path / "reports")
    newest_revision = max((tmp_path / "reports" / CAMPAIGN / SITE).glob("*/r1"))
    (newest_revision / "bundle" / "campaign.toml").write_text('title = "t"\nconfirm = "30m"\n')
    return redigest_bundle(newest_revision)


def launched(revision: Path, change: Any, launches: int = 9, node: str = NODE_PSEUDONYM) -> Path:
    """The revision, with launches that were made again on a node."""
    facts = manifest.verify(revision / "bundle").data
    bundle_facts = {k: v for k, v in facts.items() if k not in ("schema", "files")}
    writer = NightWriter(revision, SERIES, launches=launches, samples=2, seed=9, change=change)
    writer.nodes = lambda _: node
    writer.bundle(revision / "bundle" / records.CONFIRMATION_FOLDER, NIGHTS - 1, bundle_facts)
    return redigest_bundle(revision)


def read(revision: Path) -> data.BundleData:
    """Its bundle, with the nights before it."""
    bundle, reports = revision / "bundle", revision.parents[3]
    ledger.attach_history(
        bundle, manifest.verify(bundle), ledger.read_ledger(reports, CAMPAIGN, SITE)
    )
    return data.read_bundle(bundle)


def alone(revision: Path) -> Path:
    shutil.rmtree(revision / "bundle" / "history")
    return redigest_bundle(revision)


def said(night_data: data.BundleData) -> ConfirmationResult:
    return confirmation.read_confirmation(night_data, history.judge_bundle_nights(night_data))


@pytest.mark.parametrize(
    ("change", "launches", "words"),
    [
        (slower(3.0, 3, 7), 9, "confirmed: 9 of 9 launches, 0 of 9 of the control"),
        (slower(1.0), 9, "not confirmed: 0 of 9 launches, 0 of 9 of the control"),
        (
            slower(3.0),
            9,
            "the machine as a whole is slower: 9 of 9 launches, 9 of 9 of the control",
        ),
        (slower(3.0, 3, 7), 3, "too few launches to tell: 3 of 3 launches, 0 of 3 of the control"),
    ],
)
def test_what_is_said_of_a_series(revision: Path, change: Any, launches: int, words: str) -> None:
    result = said(read(launched(revision, change, launches)))
    assert [repeat.sentence for repeat in result.repeated_by_series_key.values()] == [words, words]
    for repeat in result.repeated_by_series_key.values():
        assert repeat.control and repeat.control.judgement.verdict is Verdict.UNCHANGED
        assert str(repeat.control.data.identity["case_id"]).startswith(CASES[1])
    assert result.sentence == f"Launched again: {words.partition(':')[0]} (2 series)."


def test_launches_on_other_nodes_than_those_of_the_night_are_named(revision: Path) -> None:
    result = said(read(launched(revision, slower(3.0, 3, 7), node="node-ffffffff")))
    for repeat in result.repeated_by_series_key.values():
        assert repeat.sentence.endswith("of the control; 18 on other nodes than the night's")
        assert (result.to_json_object(repeat.worse_series) or {})["on_other_nodes"] == 18


def test_launches_that_confirm_do_not_move_the_value_of_the_night(revision: Path) -> None:
    old_data = read(revision)
    old_lines = history.judge_bundle_nights(old_data).judged_series
    alone(revision)
    new_data = read(launched(revision, slower(3.0)))
    assert new_data.launch_medians.equals(old_data.launch_medians)
    assert new_data.launches.equals(old_data.launches)
    new_lines = history.judge_bundle_nights(new_data).judged_series
    assert [line.history for line in new_lines] == [line.history for line in old_lines]
    night_rows = ledger.read_ledger(alone(revision).parents[3], CAMPAIGN, SITE).nights
    assert night_rows.filter(night=night_rows["night"].max())["launches"].unique().to_list() == [2]


def test_the_report_says_it_at_its_top_and_in_its_section(revision: Path) -> None:
    report = build_report(read(launched(revision, slower(3.0, 3, 7))))
    page, text = renderers.render_html(report), renderers.render_markdown(report)
    for form in (page, text):
        assert "Launched again: confirmed (2 series)." in form
        assert "sign test" in form
    assert "9 of 9" in text and "0 of 9" in text


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ({"why_not": "no time was left"}, "Not launched again: no time was left."),
        ({"why_not": ""}, "Not launched again: none of their launches completed."),
        (None, "Not launched again: the night ended before."),
        (["hostile"], "Not launched again: none of their launches completed."),
    ],
)
def test_a_night_that_launched_nothing_again_says_why(
    revision: Path, note: Any, words: str
) -> None:
    if note is not None:
        (revision / "bundle" / "env" / records.CONFIRMATION_FILE).write_text(json.dumps(note))
    night_data = read(redigest_bundle(revision))
    assert said(night_data).sentence == words
    assert words in renderers.render_markdown(build_report(night_data))


def test_a_campaign_that_does_not_ask_says_nothing(revision: Path) -> None:
    (revision / "bundle" / "campaign.toml").write_text('title = "t"\n')
    night_data = read(redigest_bundle(revision))
    assert said(night_data) == ConfirmationResult({})
    assert "aunched again" not in renderers.render_markdown(build_report(night_data))


def controls(night_data: data.BundleData) -> Any:
    return confirmation.worse_series_with_controls(history.judge_bundle_nights(night_data))


def test_where_no_case_is_calm_the_control_is_of_the_same_launch(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, 8, launches=2, samples=2, change=slower(3.0, 3))
    ((worse, control),) = controls(read(writer.write(NIGHTS)[-1]))
    assert control and control.data.identity["case_id"] == worse.data.identity["case_id"]
    assert control.data.identity["variant"] == worse.data.identity["variant"]


def test_where_all_changed_there_is_no_control(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, 3, launches=2, samples=2, change=slower(3.0))
    assert [control for _, control in controls(read(writer.write(NIGHTS)[-1]))] == [None] * 3


def test_the_controls_do_not_hang_on_the_order_of_series(revision: Path) -> None:
    night_verdicts = history.judge_bundle_nights(read(revision))
    pairs = confirmation.worse_series_with_controls(night_verdicts)
    expected = sorted(pairs, key=lambda pair: pair[0].full_title)
    assert len(confirmation.cases_to_relaunch(night_verdicts)) == 2
    for seed in range(5):
        lines = random.Random(seed).sample(night_verdicts.judged_series, k=SERIES)
        shuffled = replace(night_verdicts, judged_series=tuple(lines))
        pairs = confirmation.worse_series_with_controls(shuffled)
        assert sorted(pairs, key=lambda pair: pair[0].full_title) == expected


def ask(revision: Path, *arguments: str) -> tuple[str, str]:
    """What ``roundtrip history`` of the reports of a revision prints."""
    process = run_roundtrip("history", SITE, "--reports", revision.parents[3], *arguments)
    assert process.returncode == 1
    return process.stdout, process.stderr


def page(revision: Path) -> str:
    reports = revision.parents[3]
    (revision / store.PAGE_FILE).touch()
    write.write_pages(reports)
    return (reports / CAMPAIGN / SITE / write.HISTORY).read_text()


def test_the_page_of_all_nights_and_the_command_say_it(revision: Path) -> None:
    launched(revision, slower(3.0, 3, 7))
    text, (output, _) = page(revision), ask(revision)
    assert text.count("Launched again: confirmed (2 series).") == 1
    assert text.count("Launched again: confirmed: 9 of 9 launches, 0 of 9 of the control.") == 2
    assert "Launched again: confirmed (2 series)." in output
    assert output.count("confirmed: 9 of 9 launches, 0 of 9 of the control") == 2
    series = parse_answer("history", ask(revision, "--json")[0])["series"]
    worse = [record for record in series if record["verdict"] == "worse last night"]
    results = [record["confirmation"] for record in worse]
    counts = [(result["verdict"], result["beyond"], result["launches"]) for result in results]
    assert counts == [("confirmed", 9, 9)] * 2
    assert all(result["control"]["beyond"] == 0 for result in results)
    assert not any(record["confirmation"] for record in series if record["verdict"] == "unchanged")


def test_launches_that_cannot_be_read_cost_the_night_and_its_page_nothing(revision: Path) -> None:
    launched(revision, slower(3.0, 3, 7))
    (revision / "bundle" / records.CONFIRMATION_FOLDER / "cases.parquet").write_bytes(b"no table")
    text = page(redigest_bundle(revision))
    assert "Not read: " in text and "Launched again" not in text
    assert str(revision.parents[3]) not in text
    output, error = ask(revision)
    assert "2 worse last night" in output and "Launched again" not in output
    assert error.startswith("warning: ") and error.count("\n") == 1


counts = st.integers(0, 40).flatmap(lambda n: st.builds(SignTest, st.integers(0, n), st.just(n)))


def outcome(beyond: int, launches: int, control: SignTest | None = None) -> Confirmation:
    (result,) = judge_repetitions([SignTest(beyond, launches)], [control], LEVEL)
    return result


@pytest.mark.parametrize(
    ("beyond", "launches", "verdict"),
    [
        (9, 9, Confirmation.CONFIRMED),  # p = 1/512
        (8, 9, Confirmation.CONFIRMED),  # 10/512
        (7, 9, Confirmation.NOT_CONFIRMED),  # 46/512 = 0.09
        (0, 9, Confirmation.NOT_CONFIRMED),
        (5, 5, Confirmation.CONFIRMED),  # 1/32
        (4, 4, Confirmation.TOO_FEW_LAUNCHES),  # 1/16: as clear as can be, and not enough
        (0, 1, Confirmation.TOO_FEW_LAUNCHES),
        (0, 0, Confirmation.NOT_LAUNCHED),
    ],
)
def test_known_answers(beyond: int, launches: int, verdict: Confirmation) -> None:
    assert outcome(beyond, launches) is verdict


def test_the_control_comes_first() -> None:
    assert outcome(9, 9, SignTest(5, 9)) is Confirmation.MACHINE_SLOWER
    assert outcome(3, 9, SignTest(9, 9)) is Confirmation.MACHINE_SLOWER
    assert outcome(9, 9, SignTest(4, 9)) is Confirmation.CONFIRMED
    assert outcome(9, 9, SignTest(0, 0)) is Confirmation.CONFIRMED


def test_many_series_are_held_to_more_and_help_each_other() -> None:
    lone_results = judge_repetitions([SignTest(8, 9), *[SignTest(2, 9)] * 9], [None] * 10, LEVEL)
    assert lone_results[0] is Confirmation.NOT_CONFIRMED
    joint_results = judge_repetitions([SignTest(8, 9)] * 10, [None] * 10, LEVEL)
    assert set(joint_results) == {Confirmation.CONFIRMED}


@pytest.mark.parametrize(("series", "fewest"), [(1, 5), (2, 6), (10, 8), (100, 11)])
def test_the_fewest_launches(series: int, fewest: int) -> None:
    verdicts = {fewest - 1: Confirmation.TOO_FEW_LAUNCHES, fewest: Confirmation.NOT_CONFIRMED}
    for launches, verdict in verdicts.items():
        tests = [SignTest(0, launches)] * series
        assert set(judge_repetitions(tests, [None] * series, LEVEL)) == {verdict}


@given(st.integers(1, 60))
def test_a_series_inside_its_edge_is_confirmed_less_often_than_the_level(launches: int) -> None:
    """Exactly: each launch lies beyond with probability 1/2, the worst that "inside" allows."""
    wrong = [k for k in range(launches + 1) if outcome(k, launches) is Confirmation.CONFIRMED]
    assert sum(comb(launches, k) for k in wrong) <= LEVEL * 2**launches


@given(counts, counts)
def test_another_launch_beyond_takes_no_confirmation_back(
    sign_test: SignTest, control: SignTest
) -> None:
    larger_test = SignTest(sign_test.beyond + 1, sign_test.launches + 1)
    if outcome(sign_test.beyond, sign_test.launches, control) is Confirmation.CONFIRMED:
        assert outcome(larger_test.beyond, larger_test.launches, control) is Confirmation.CONFIRMED


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=20))
def test_nothing_is_confirmed_whose_control_is_slower(
    pairs: list[tuple[SignTest, SignTest]],
) -> None:
    sign_tests, controls = zip(*pairs, strict=True)
    verdicts = judge_repetitions(sign_tests, controls, LEVEL)
    for verdict, sign_test, control in zip(verdicts, sign_tests, controls, strict=True):
        if control.is_majority:
            assert verdict in (Confirmation.MACHINE_SLOWER, Confirmation.NOT_LAUNCHED)
        assert (verdict is Confirmation.NOT_LAUNCHED) == (sign_test.launches == 0)
