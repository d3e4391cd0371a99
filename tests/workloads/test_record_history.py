"""The recording of NPB histories: tolerances follow from the spread, and the source compiles."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "workloads" / "npb"


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record_history", FOLDER / "record_history.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("columns", "tolerance"),
    [
        ([(5.0, 5.0), (7.0, 7.0)], 0.0),  # whole numbers: exact
        ([(0.5, 0.5), (0.25, 0.25)], 2e-14),  # no spread: a hundred roundings
        ([(1.0, 1.0), (2.0, 2.0 + 2e-12)], 1e-10),  # 100 times the widest
        ([(1e-13, 3e-13), (2e-15, 1e-15)], 100.0),  # all of it is rounding
    ],
)
def test_a_tolerance_is_a_hundred_spreads(
    recorder: ModuleType, columns: list[tuple[float, ...]], tolerance: float
) -> None:
    assert recorder.tolerance(columns) == pytest.approx(tolerance, rel=1e-3)


def test_a_class_becomes_an_entry_of_the_map(recorder: ModuleType) -> None:
    runs = [[[8.5, 1e-13], [8.6, 2e-14]], [[8.5, 3e-13], [8.6, 4e-14]]]
    assert recorder.as_cpp("CG", "S", runs) == (
        '{\'S\', {{{"zeta", 2.0e-14}, {"residual", 1.0e+02}}, {8.5, 2e-13, 8.6, 3e-14}}}'
    )


def test_ranks_are_legal(recorder: ModuleType) -> None:
    assert recorder.counts("BT", "S", first=True) == (1, 4, 9, 16)
    assert recorder.counts("LU", "S", first=True) == (1, 2, 4, 8)
    assert recorder.counts("CG", "W", first=False) == (1, 2)
    assert recorder.counts("CG", "B", first=True) == (1, 2)


def test_what_was_recorded_names_the_quantities_of_the_recorder(recorder: ModuleType) -> None:
    for benchmark, names in recorder.QUANTITIES.items():
        text = (FOLDER / benchmark.lower() / "history.cpp").read_text()
        for name in names:
            assert text.count(f'{{"{name}", ') == text.count("{'"), (benchmark, name)
