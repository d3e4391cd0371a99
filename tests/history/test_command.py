"""``roundtrip history``: what changed over the published nights of a site."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command import parse_answer, run_roundtrip
from support.nights import CAMPAIGN, ENVIRON, SITE, NightWriter, make_checkout

from roundtrip.report.pages import write

history = partial(run_roundtrip, "history")
SLOWER_FROM = 40
WORSE_ONCE = "worse on night 35 (2026-02-04), "


def records(reports: Path, *arguments: str) -> list[dict[str, Any]]:
    """What ``--json`` says of each series."""
    process = history(SITE, "--json", *arguments, "--reports", reports)
    return list(parse_answer("history", process.stdout)["series"])


def change(number: int, series: Any) -> Any:
    """From night 40 on, 8 % slower at one byte by raw MPI; and 8 % faster by Boost.MPI."""
    is_one_byte = (series["size_bytes"] == 1).to_numpy()
    factor = np.ones(series.height)
    if number >= SLOWER_FROM:
        factor[is_one_byte & (series["variant"] == "mpi").to_numpy()] = 1.08
        factor[is_one_byte & (series["variant"] == "boost").to_numpy()] = 1 / 1.08
    return factor


def once(number: int, _: Any) -> float:
    """Slower on night 34 alone."""
    return 1.5 if number == 34 else 1.0


def host(number: int) -> dict[str, Any]:
    return {"packages": {"libucx0": "1.14" if number >= SLOWER_FROM else "1.13"}}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "reports"
    NightWriter(folder, series=30, launches=2, samples=2, change=change, host=host).write(55)
    return folder


def test_what_regressed_comes_first_with_what_differed_there(reports: Path) -> None:
    process = history(SITE, CAMPAIGN, "--reports", reports)
    assert (process.returncode, process.stderr) == (1, "")
    lines = process.stdout.splitlines()
    span = "55 nights, 2026-01-01 to 2026-02-24"
    assert lines[0].startswith(f"synthetic on local: {span}; 30 series: 1 regressed, 1 improved, ")
    rows = [line.strip() for line in lines[1:] if "regressed" in line or "improved" in line]
    assert len(rows) == 2
    assert rows[0].startswith("regressed") and "mpi, 1 B" in rows[0]
    assert rows[1].startswith("improved") and "boost, 1 B" in rows[1]
    assert all("package libucx0: 1.13 → 1.14" in row and "2026-02-1" in row for row in rows)


def test_json_has_every_series(reports: Path) -> None:
    all_series = records(reports)
    assert len(all_series) == 30 and {record["campaign"] for record in all_series} == {CAMPAIGN}
    (slower,) = [record for record in all_series if record["verdict"] == "regressed"]
    assert (slower["variant"], slower["size_bytes"]) == ("mpi", 1)
    assert slower["interval"][0] < 1.08 < slower["interval"][1]
    change = {"subject": "", "name": "package libucx0", "before": "1.13", "after": "1.14"}
    assert slower["changes"] == [{**change, "nodes": []}]
    unchanged = [record for record in all_series if record["verdict"] == "unchanged"]
    assert unchanged and all(0 < record["would_have_seen"] < 0.2 for record in unchanged)


def test_a_filter_leaves_the_series_with_its_name(reports: Path) -> None:
    variants = {record["variant"] for record in records(reports, "--series", "MPI-Datatype")}
    assert variants == {"mpi-datatype"}
    assert history(SITE, "--series", "MPI-Datatype", "--reports", reports).returncode == 0


def test_what_is_accepted_is_the_baseline_and_older_news_is_none(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_checkout(tmp_path) / "annotations.yaml"
    monkeypatch.chdir(tmp_path)

    def ask(*arguments: str) -> tuple[int, str]:
        process = history(SITE, "--reports", reports, *arguments)
        assert process.stderr == ""
        return process.returncode, process.stdout

    assert ask("--since", "2026-02-20")[0] == 0
    assert ask("--since", "2026-02-01")[0] == 1
    reason = ("--reason", 'the new "UCX": agreed')
    status, output = ask("--accept", "mpi, 1 B; half", *reason)
    assert status == 0 and output.startswith("accepted up to 2026-02-24T")
    assert ask()[0] == 0
    all_series = records(reports)
    (slower,) = [row for row in all_series if (row["variant"], row["size_bytes"]) == ("mpi", 1)]
    assert (slower["verdict"], slower["alarm"]) == ("unchanged", False)
    assert slower["accepted"]["reason"] == reason[1]
    assert len(slower["steps"]) == 1
    assert ask("--accept", "--all", *reason)[0] == 0
    assert file.read_text().count("kind: accepted") >= 2
    assert all(record["accepted"] for record in records(reports))


def test_all_shows_what_did_not_change(reports: Path) -> None:
    piped_output = history(SITE, "--all", "--reports", reports, columns="").stdout
    narrow_output = history(SITE, "--all", "--reports", reports, columns="60").stdout
    assert piped_output.count(ENVIRON) == 30 and piped_output.count("package libucx0: 1.13") == 2
    assert "\N{NO-BREAK SPACE}% within 10 nights" in piped_output
    assert "regressed" in narrow_output and "…" not in narrow_output


def test_a_night_that_stands_alone_is_shown_with_what_changed(tmp_path: Path) -> None:
    def kernel(number: int) -> str:
        return ("5.14.0", "5.15.0", "6.1.0")[(number > 32) + (number > 33)]

    writer = NightWriter(tmp_path, series=1, launches=2, samples=2, change=once, kernel=kernel)
    writer.write(35)
    process = history(SITE, "--reports", tmp_path)
    (row,) = [line for line in process.stdout.splitlines()[1:] if "worse last night" in line]
    assert process.returncode == 1 and " last night" in row
    assert "5.15.0 → 6.1.0" in row and "5.14.0" not in row


def test_a_night_that_was_worse_is_said_to_be_back_once(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, series=1, launches=2, samples=2, change=once)
    writer.write(36)
    process = history(SITE, "--reports", tmp_path)
    lines = [line.strip() for line in process.stdout.splitlines()[1:]]
    (row,) = [line for line in lines if line.startswith("unchanged")]
    assert process.returncode == 0
    assert WORSE_ONCE in row and "back at the level last night: an incident" in row
    (series,) = records(tmp_path)
    assert series["revised"][0].startswith(WORSE_ONCE) and series["revisions"] == []
    writer.night(36)
    assert "back last night" not in history(SITE, "--reports", tmp_path).stdout


def test_the_page_says_that_a_night_was_worse(tmp_path: Path) -> None:
    NightWriter(tmp_path, series=1, launches=2, samples=2, change=once).write(36)
    for revision in tmp_path.glob("*/*/*/r1"):
        (revision / "report.html").touch()
    write.write_pages(tmp_path)
    page = (tmp_path / CAMPAIGN / SITE / "history.html").read_text()
    assert page.count(WORSE_ONCE) >= 2, "in its row and in what is said of it"


def test_a_change_that_went_back_is_withdrawn_in_words(tmp_path: Path) -> None:
    def thrice(number: int, _: Any) -> float:
        return 1.5 if 34 <= number < 37 else 1.0

    writer = NightWriter(tmp_path, series=1, launches=2, samples=2, change=thrice)
    writer.write(37)
    assert "regressed" in history(SITE, "--reports", tmp_path).stdout
    writer.night(37)
    words = "the level returned, so these nights are an incident"
    (record,) = records(tmp_path)
    (revision,) = record["revisions"]
    assert revision["reported"].startswith("2026-02-04") and revision["now"] is None
    assert revision["why"] == words and record["verdict"] == "unchanged" and not record["alarm"]
    assert "change point of night 35 (2026-02-04), 1." in record["revised"][0]


def test_a_damaged_night_is_warned_of(tmp_path: Path) -> None:
    (first, _) = NightWriter(tmp_path, series=1).write(2)
    (first / "report.json").unlink()
    process = history(SITE, "--reports", tmp_path)
    assert process.returncode == 0
    assert process.stderr == f"warning: {first}: not a published report\n"
    assert "1 night, 2026-01-02" in process.stdout
    assert "1 of the 12 nights that a verdict needs" in process.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere",), "no published night of site 'nowhere'"),
        ((SITE, "other"), "no published night of campaign 'other' on site 'local'"),
        (("../x",), "'../x': a name has up to 100 letters"),
        ((SITE, "--series", "quantum"), "no series has 'quantum' in its name"),
        ((SITE, "--accept", "quantum", "--reason", "x"), "no series has 'quantum' in its name"),
        ((SITE, "--accept", "mpi"), "--accept SERIES and --reason TEXT belong together"),
        ((SITE, "--reason", "x"), "--accept SERIES and --reason TEXT belong together"),
        ((SITE, "--since", "yesterday"), "--since 'yesterday': right is a date such as"),
        ((SITE, "--accept", "--all", "--reason", "a\nb"), "--reason: right is one line"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    NightWriter(tmp_path, series=1).write(1)
    process = history(*arguments, "--reports", tmp_path)
    assert (process.returncode, process.stdout) == (2, "")
    assert complaint in process.stderr and len(process.stderr.splitlines()) == 1
