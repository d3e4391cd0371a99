"""Records of a run tree: what their models refuse, and rounds of sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from measure.conftest import ENVIRON
from support.synthetic import Tree

from roundtrip.errors import UserError
from roundtrip.measure import records


@pytest.fixture
def launch(tree: Tree) -> Path:
    return tree.folder(1, ENVIRON)


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
