"""samples.csv proves itself: no row is doubled, swapped, renamed, scaled or lost unseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundtrip.collect import bundle, samples
from roundtrip.collect.launches import scan
from roundtrip.report import data
from roundtrip.report.sections import launches
from roundtrip.studies.netpipe import output as netpipe_output

ENVIRON = "openmpi41-boost181"
SERIES = "pingpong/same mpi 1 B measure half_round_trip_time"
Maker = Callable[..., Any]
Lines = list[str]


def rewritten(tree: Any, change: Callable[[Lines], Lines], sealed: bool = True) -> tuple[str, str]:
    """Status and reason of the launch of a tree after a change of its rows."""
    folder = tree.folder(1, ENVIRON)
    lines = (folder / "samples.csv").read_text().splitlines(keepends=True)
    (folder / "samples.csv").write_text("".join(lines[:3] + change(lines[3:])))
    if not sealed:
        unseal(folder)
    (launch,) = scan(tree.path)
    return launch.status, launch.reason


def unseal(folder: Path) -> None:
    """Make run.json that of a workload that did not seal."""
    run = json.loads((folder / "run.json").read_text())
    run["samples"] = {"rows": run["samples"]["rows"]}
    (folder / "run.json").write_text(json.dumps(run))


def scaled(rows: Lines) -> Lines:
    columns = rows[7].split(",")
    columns[7] = repr(float(columns[7]) * 1000)
    return [*rows[:7], ",".join(columns), *rows[8:]]


def swapped(rows: Lines) -> Lines:
    """Two values of one series, each in the place of the other."""
    first, second = rows[0].split(","), rows[1].split(",")
    first[7], second[7] = second[7], first[7]
    return [",".join(first), ",".join(second), *rows[2:]]


CHANGES: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "doubled": (lambda r: [r[0], *r], "samples.csv has 126 rows, run.json says 125"),
    "lost": (lambda r: r[1:], "samples.csv has 124 rows, run.json says 125"),
    "copied over another": (
        lambda r: [r[1], *r[1:]],
        f"samples.csv: rep of {SERIES} does not count 0, 1, 2, ...",
    ),
    "renamed": (
        lambda r: [r[0].replace(",mpi,", ",boost,"), *r[1:]],
        "samples.csv has 6 samples of pingpong/same boost 1 B",
    ),
    "moved to another size": (
        lambda r: [r[0].replace(",mpi,1,", ",mpi,64,"), *r[1:]],
        "samples.csv has 6 samples of pingpong/same mpi 64 B",
    ),
    "scaled": (scaled, "samples.csv is not the file that the workload wrote: its sha256 begins"),
    "swapped": (swapped, "samples.csv is not the file that the workload wrote"),
    "in another order": (lambda r: r[::-1], "does not count 0, 1, 2, ..."),
    "with other line ends": (
        lambda r: [line.replace("\n", "\r\n") for line in r],
        "samples.csv is not the file that the workload wrote",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_row_fails_its_launch(make_tree: Maker, name: str) -> None:
    change, told = CHANGES[name]
    status, reason = rewritten(make_tree(launches=1, environs=(ENVIRON,)), change)
    assert status == "failed"
    assert told in reason


def test_a_changed_head_fails_too(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    file = tree.folder(1, ENVIRON) / "samples.csv"
    file.write_text(file.read_text().replace('"netpipe"', '"netpipes"'))
    (launch,) = scan(tree.path)
    assert "is not the file that the workload wrote" in launch.reason


@pytest.mark.parametrize("name", ["doubled", "lost", "copied over another", "in another order"])
def test_what_an_unsealed_launch_shows_even_so(make_tree: Maker, name: str) -> None:
    change, _ = CHANGES[name]
    status, _ = rewritten(make_tree(launches=1, environs=(ENVIRON,)), change, sealed=False)
    assert status == "failed"


def test_an_unsealed_launch_is_read_and_the_report_says_so(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    sealed = data.read(bundle.build(tree.path))
    assert sealed.launches["sealed"].to_list() == [True, True]
    assert "not sealed" not in repr(launches.part(sealed))
    unseal(tree.folder(2, ENVIRON))
    some = data.read(bundle.build(tree.path))
    assert some.launches["status"].to_list() == ["passed", "passed"]
    assert some.launches["sealed"].to_list() == [True, False]
    assert "1 launch of 2 is not sealed" in repr(launches.part(some))


def test_a_forged_digest_is_no_text(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    file = tree.folder(1, ENVIRON) / "run.json"
    run = json.loads(file.read_text())
    for digest in ("", "A" * 64, "0" * 63, 7, None, "0" * 64 + "\n"):
        run["samples"]["sha256"] = digest
        file.write_text(json.dumps(run))
        (launch,) = scan(tree.path)
        assert launch.reason.startswith("run.json:1: samples.sha256: ")


@pytest.mark.parametrize("kept", [("rows",), ("rows", "sha256"), ("rows", "counts")])
def test_a_part_of_a_seal_is_none(kept: tuple[str, ...]) -> None:
    full = {"rows": 0, "sha256": "", "counts": []}
    assert samples.is_full_seal(full)
    assert not samples.is_full_seal({key: full[key] for key in kept})


def test_foreign_launches_are_sealed(tmp_path: Path) -> None:
    file = tmp_path / "np.out"
    recorded = Path(__file__).parents[1] / "data" / "netpipe" / "NPmpich2-4.0.2.full.out"
    file.write_bytes(recorded.read_bytes())
    netpipe_output.convert(file, "NPmpich2", 2)
    content = (tmp_path / "samples.csv").read_bytes()
    run = json.loads((tmp_path / "run.json").read_text())
    assert samples.is_full_seal(run["samples"])
    frame = samples.parse(content, file).frame
    assert samples.seal_fault(samples.digest(content), frame, run["samples"]) == ""
