"""Records of a run tree: what their models refuse, and rounds of sessions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundtrip.collect import analysis, records
from roundtrip.errors import UserError


@pytest.fixture
def launch(make_tree: Callable[..., Any]) -> Path:
    tree = make_tree(launches=1, environs=("openmpi41-boost181",))
    folder: Path = tree.folder(1, "openmpi41-boost181")
    return folder


def test_a_case_id_has_its_parameters_sorted() -> None:
    name = "NetPIPE %placement=shared-memory %mode=pingpong"
    expected = "NetPIPE/mode=pingpong,placement=shared-memory@local:smp+openmpi41-boost181"
    assert records.named_case_id(name, "local", "smp", "openmpi41-boost181") == expected
    assert records.named_case_id("Ring", "a", "b", "c") == "Ring/@a:b+c"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ranks": "two"}, "ranks: input should be a valid integer, not 'two'"),
        ({"ranks": 0}, "ranks: input should be greater than or equal to 1, not 0"),
        ({"schema": 2}, "schema: input should be 1, not 2"),
        ({"complete": "yes"}, "complete: input should be a valid boolean, not 'yes'"),
        ({"samples": {}}, "samples: 'rows' is missing"),
        ({"points": [{"case": "a"}]}, "points.0: "),
        ({"disturbance": {"steal_s": "much"}}, "disturbance"),
        ({"ring": {"skipped": [{"variant": "mpi-rma"}]}}, "ring.skipped.0: 'reason' is missing"),
        ({"npb": {"choices": [{"of": "x"}]}}, "npb.choices.0: 'chosen' is missing"),
        ({"npb": {"verification": {"history": ""}}}, "npb.verification"),
    ],
)
def test_a_wrong_value_is_named(launch: Path, changes: dict[str, Any], complaint: str) -> None:
    file = launch / "run.json"
    data = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps(data, indent=1))
    with pytest.raises(UserError) as error:
        records.read_record(file)
    assert complaint in error.value.message
    assert error.value.line is not None
    line = file.read_text().splitlines()[error.value.line - 1]
    assert f'"{next(iter(changes))}"' in line or changes.keys() & {"disturbance", "ring", "npb"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not JSON"),
        (b'{"schema": 1,\n "ranks": ]}', "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1]", "the file: input should be an object, not [1]"),
        (b'{"ranks": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "not JSON: nested more than 64 deep"),
        (b"[" * 70 + b"]" * 70, "not JSON: nested more than 64 deep"),
        (b'{"elapsed_s": 1' + b"0" * 400 + b"}", "a number of 401 digits"),
        (b'{"elapsed_s": 1e400}', "1e400 is not finite"),
        (b'{"hosts": ["\\ud800"]}', "half of a surrogate pair"),
        (b'{"\\udfff": 1}', "half of a surrogate pair"),
        (b'{"ranks": 1, "ranks": 2}', "the key 'ranks' stands twice"),
    ],
)
def test_what_is_not_a_record(launch: Path, content: bytes, complaint: str) -> None:
    (launch / "run.json").write_bytes(content)
    with pytest.raises(UserError, match="run.json") as error:
        records.read_record(launch / "run.json")
    assert complaint in error.value.message
    assert "\n" not in str(error.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing"):
        records.read_record(tmp_path / "case.json")


def test_the_package_thresholds_are_good() -> None:
    levels = analysis.default().statistics
    assert 0 < levels.minimum_effect <= levels.equivalence_margin < 1


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "minimum_effect = 0.05",
            "minimum_effect = 'x'",
            "statistics.minimum_effect: input should be",
        ),
        (
            "minimum_effect = 0.05",
            "minimal_effect = 0.05",
            "statistics: unknown key 'minimal_effect'; legal",
        ),
        ("[netpipe]", "[netpype]", "unknown key 'netpype'; legal are disturbance, "),
        ("[disturbance]", "[netpipes]", "unknown key 'netpipes'; legal are "),
        ("confidence_level = 0.95", "confidence_level = 1", "should be less than 1"),
        ("[netpipe]", "[netpipe", "not TOML"),
        ("compared_sizes = [1, 1024, 65536, 1048576]", "compared_sizes = []", "compared_sizes"),
    ],
)
def test_bad_thresholds_are_one_line(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    file = tmp_path / "analysis.toml"
    file.write_text(analysis.default_text().replace(old, new))
    with pytest.raises(UserError) as error:
        analysis.load(file)
    assert complaint in error.value.message
    line_number = file.read_text().split(new)[0].count("\n") + 1
    assert (error.value.file, error.value.line) == (str(file), line_number)


def test_thresholds_older_than_a_study_are_good_and_stay_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "analysis.toml"
    file.write_text(analysis.default_text().split("[netpipe]")[0])
    thresholds = analysis.load(file)
    assert thresholds.studies == analysis.default().studies
    assert thresholds.text == file.read_text()
    file.write_text("[netpipe]\ncompared_sizes = [1]\ngreat_loss = 0.5\n")
    with pytest.raises(UserError, match="'statistics' is missing"):
        analysis.load(file)


def test_the_round_that_was_written_is_read(tmp_path: Path) -> None:
    assert records.read_round(tmp_path) is None
    records.write_round(tmp_path, 7)
    assert records.read_round(tmp_path) == 7


@pytest.mark.parametrize("number", [0, -1, 1 << 40, True, 1.0, "1", [1], None])
def test_what_is_no_number_of_a_round_is_none(tmp_path: Path, number: Any) -> None:
    records.write_round(tmp_path, 1)
    (file,) = tmp_path.iterdir()
    for data in ({"round": number}, number):
        file.write_text(json.dumps(data))
        assert records.read_round(tmp_path) is None
