"""analysis.toml: the table of the history, and files that are older than it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roundtrip.collect import analysis
from roundtrip.errors import UserError
from roundtrip.studies.netpipe.thresholds import Thresholds

FILE = Path("analysis.toml")


def without_history() -> str:
    text = analysis.default_text()
    start = text.index("[history]")
    return text[:start] + text[text.index("[", text.index("sight_power")) :]


def changed(old: str, new: str) -> str:
    text = analysis.default_text()
    assert old in text
    return text.replace(old, new, 1)


def test_a_file_from_before_the_history_gets_the_packages_table() -> None:
    assert "[history]" not in without_history()
    read = analysis.parse(without_history(), FILE)
    assert read.history == analysis.default().history
    assert "[history]" not in read.text


def test_a_file_without_the_statistics_is_none() -> None:
    text = "[disturbance]" + analysis.default_text().split("[disturbance]", 1)[1]
    with pytest.raises(UserError, match=r"the table \[statistics\] is missing"):
        analysis.parse(text, FILE)


def test_a_file_older_than_a_threshold_gets_its_default_and_says_so() -> None:
    text = re.sub(r"(?m)^(advised_launches|many_bytes) = .*$", "", analysis.default_text())
    old = analysis.parse(text, FILE)
    assert (old.statistics.advised_launches, old.of(Thresholds).many_bytes) == (9, 1024)
    assert old.later == "[statistics]\nadvised_launches = 9\n[netpipe]\nmany_bytes = 1024"
    assert analysis.default().later == ""
    with pytest.raises(UserError, match="needs exactly the keys"):
        analysis.parse(text.replace("great_loss = 0.5", ""), FILE)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("schedule_nights = [30, ", "schedule_nights = [300, ", "schedule_nights must rise"),
        ("schedule_thresholds = [", "schedule_thresholds = [1, ", "as many values as"),
        ("step_most = 90", "step_most = 4", "step_most must be a whole number, at least 5"),
        ("sight_power = 0.9", "sight_power = 1.0", "sight_power must lie between 0 and 1"),
        ("autocorrelation_most = 0.85", "autocorrelation_most = 1", "must lie below 1"),
        ("clip_sd = 4.0", "clip_sd = 0", "clip_sd must be above 0"),
        ("clip_sd = 4.0", "clip_sd = [3.5]", "clip_sd must be a number"),
        ("schedule_nights = [30, 60, 75, 90, 105, 365]", "schedule_nights = 90", "must be a list"),
        ("clip_sd = 4.0", "clip = 3.5", "needs exactly the keys"),
    ],
)
def test_a_history_that_makes_no_sense_is_told_with_its_line(old: str, new: str, told: str) -> None:
    text = changed(old, new)
    with pytest.raises(UserError, match=told) as raised:
        analysis.parse(text, FILE)
    line = text[: text.index(new.split(" = ")[0])].count("\n") + 1
    if "needs exactly" not in told:
        assert f"analysis.toml:{line}:" in str(raised.value)
