"""analysis.toml: what is wrong in one, and files that are older than a table or a threshold."""

import re
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.measure import analysis
from roundtrip.studies.netpipe import Thresholds
from roundtrip.study import get_study

FILE = Path("analysis.toml")


def changed(old: str, new: str) -> str:
    text = analysis.default_toml()
    assert old in text
    return text.replace(old, new, 1)


def test_thresholds_older_than_a_study_are_good_and_stay_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "analysis.toml"
    file.write_text(analysis.default_toml().split("[netpipe]")[0])
    thresholds = analysis.load(file)
    assert thresholds.study_tables == analysis.default_settings().study_tables
    assert thresholds.toml_text == file.read_text()


def test_a_file_may_say_only_what_differs_from_the_defaults() -> None:
    """What it lacks has one source, the package's tables, and is printed as TOML."""
    settings = analysis.parse("[statistics]\nminimum_effect = 0.02\n", FILE)
    default = analysis.default_settings()
    assert settings.statistics == default.statistics.model_copy(update={"minimum_effect": 0.02})
    assert (settings.history, settings.study_tables) == (default.history, default.study_tables)
    rest = analysis.parse(settings.default_toml, FILE)
    assert rest.statistics == default.statistics
    assert rest.default_toml == "[statistics]\nminimum_effect = 0.05"


def test_a_file_older_than_a_threshold_gets_its_default_and_says_so() -> None:
    text = re.sub(r"(?m)^(advised_launches|many_bytes) = .*$", "", analysis.default_toml())
    settings = analysis.parse(text, FILE)
    assert settings.statistics.advised_launches == 9
    assert settings.study_thresholds(Thresholds).many_bytes == 1024
    default_toml = "[statistics]\nadvised_launches = 9\n[netpipe]\nmany_bytes = 1024"
    assert settings.default_toml == default_toml
    assert analysis.default_settings().default_toml == ""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("incident_nights = 10", "incident_nights = 4", "at least segment_least, which is 5"),
        ("newest_sd_most = 5.0", "newest_sd_most = 3.0", "must be at least newest_sd, which is 4"),
        ("sight_power = 0.9", "sight_power = 1.0", "sight_power: input should be less than 1"),
        ("white_share = 0.5", "white_share = 1.0", "should be less than 1"),
        ("clip_sd = 4.0", "clip_sd = 0", "clip_sd: input should be greater than 0"),
        ("clip_sd = 4.0", "clip_sd = [3.5]", "clip_sd: input should be a valid number"),
        ("evidence_newest = [8.0, 6.0, 5.8]", "evidence_newest = 8", "should be a list"),
        ("clip_sd = 4.0", "clip = 3.5", "unknown key 'clip'"),
        ("minimum_effect = 0.05", "minimum_effect = 'x'", "statistics.minimum_effect: input"),
        ("minimum_effect = 0.05", "minimal_effect = 0.05", "statistics: unknown key 'minimal_ef"),
        ("[netpipe]", "[netpype]", "unknown key 'netpype'; legal are disturbance, "),
        ("[disturbance]", "[netpipes]", "unknown key 'netpipes'; legal are "),
        ("confidence_level = 0.95", "confidence_level = 1", "should be less than 1"),
        ("[netpipe]", "[netpipe", "not TOML"),
        ("compared_sizes = [1, 1024, 65536, 1048576]", "compared_sizes = []", "compared_sizes"),
    ],
)
def test_a_wrong_threshold_is_named_with_its_line(old: str, new: str, complaint: str) -> None:
    text = changed(old, new)
    with pytest.raises(UserError, match=complaint) as error:
        analysis.parse(text, FILE)
    line = text[: text.index(new)].count("\n") + 1
    assert (error.value.file, error.value.line) == (str(FILE), line)


def test_long_messages_of_nodes_are_longer_than_short_ones() -> None:
    with pytest.raises(UserError, match="large_bytes must be above small_bytes"):
        analysis.parse(changed("large_bytes = 65536", "large_bytes = 1024"), FILE)


def test_a_least_effect_may_be_of_a_study_or_of_a_metric() -> None:
    table = '[history.minimum_effects]\nnetpipe = 0.02\n"netpipe bandwidth" = 0.05\n\n[nodes]'
    settings = analysis.parse(changed("[nodes]", table), FILE).history
    assert settings.min_effect("netpipe", "latency") == 0.02
    assert settings.min_effect("netpipe", "bandwidth") == 0.05
    assert settings.min_effect("npb", "time") == settings.minimum_effect
    for entry in ("netpipe = 2", "netpipe = 'x'", "netpipe = true"):
        with pytest.raises(UserError, match=r"must be a number from 0 to 1"):
            analysis.parse(changed("[nodes]", f"[history.minimum_effects]\n{entry}\n[nodes]"), FILE)


def with_margins(*entries: str) -> str:
    table = "\n".join(("[statistics.equivalence_margins]", *entries))
    return changed("[disturbance]", f"{table}\n\n[disturbance]")


def test_a_study_may_have_a_margin_of_its_own() -> None:
    levels = analysis.parse(with_margins("netpipe = 0.02", "ring = 0"), FILE).statistics
    assert levels.for_study("netpipe").equivalence_margin == 0.02
    assert levels.for_study("ring").equivalence_margin == 0
    assert levels.for_study("npb").equivalence_margin == levels.equivalence_margin == 0.05
    with pytest.raises(UserError, match=r"must be a number from 0 to 1, under the name of a study"):
        analysis.parse(with_margins("netpipe = 2"), FILE)
    text = with_margins("netpipe = 0.02", "rign = 0.1")
    with pytest.raises(UserError, match="no study is called 'rign': right is one of ") as error:
        analysis.parse(text, FILE)
    assert error.value.line == text[: text.index("rign")].count("\n") + 1


def test_a_site_replaces_the_margin_of_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(get_study("ring")), "equivalence_margin", 0.1)
    declared = analysis.default_settings()
    assert declared.statistics.for_study("ring").equivalence_margin == 0.1
    assert declared.default_toml == "[statistics.equivalence_margins]\nring = 0.1"
    other = analysis.parse(with_margins("npb = 0.03"), FILE)
    assert other.statistics.equivalence_margins == (("npb", 0.03), ("ring", 0.1))
    assert other.default_toml == declared.default_toml
    replaced = analysis.parse(with_margins("ring = 0.2"), FILE)
    assert replaced.statistics.for_study("ring").equivalence_margin == 0.2
    assert replaced.default_toml == ""
