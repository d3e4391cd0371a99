"""The bundle: all of a run, the same bytes each time, nothing hidden, nothing leaked."""

import errno
import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from measure.conftest import ENVIRON, Maker, read_cases
from support.json_files import content, edit
from support.synthetic import SyntheticTree, pseudonym

from roundtrip.errors import UserError
from roundtrip.measure import bundle, manifest
from roundtrip.measure.disclosure import DIGEST_PATTERN


def files(folder: Path) -> dict[str, bytes]:
    paths = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in paths}


def test_a_bundle_is_addressed_by_its_content(make_tree: Maker, tmp_path: Path) -> None:
    tree = make_tree(launches=2)
    built = bundle.build_bundle(tree.path)
    bundle_manifest = manifest.verify(built)
    assert built == tree.path / "bundles" / bundle_manifest.digest[:16]
    assert bundle.build_bundle(tree.path) == built
    tree_copy = shutil.copytree(tree.path, tmp_path / "elsewhere", ignore=lambda *_: {"bundles"})
    assert files(bundle.build_bundle(tree_copy)) == files(built)
    assert [path.name for path in (tree.path / "bundles").iterdir()] == [built.name]


def test_it_holds_every_sample(make_tree: Maker) -> None:
    tree = make_tree(launches=2)
    rows = pl.read_parquet(bundle.build_bundle(tree.path) / "samples.parquet")
    row_counts = [len(file.read_text().splitlines()) - 3 for file in tree.path.rglob("samples.csv")]
    assert rows.height == sum(row_counts)
    assert rows.columns[:3] == ["launch", "case_id", "study"]
    assert rows["launch"].n_unique() == 4


def test_failed_missing_and_skipped_cases_are_listed(make_tree: Maker) -> None:
    missing_case = {"case": "NetPIPE/mode=stream@local:smp+x", "launches": 2}
    skipped_case = {"case": "Ring/@local:smp+pvm", "reason": "toolchain 'pvm' is not installed"}
    tree = make_tree(launches=2, expected=[missing_case], skipped=[skipped_case])
    failure = "sanity error: no end marker"
    tree.fail_launch(2, ENVIRON, fail_reason=failure)
    shutil.rmtree(tree.launch_folder(2, "mpich40-boost181"))
    tree.write_report(2, [tree.report_entry(2, ENVIRON, "fail", fail_reason=failure)])
    lost_cases = read_cases(tree).filter(pl.col("status") != "passed")
    rows = lost_cases.sort("status", "launch").select("status", "case_id", "reason", "study").rows()
    lost_case, mpich_case = tree.case_id(ENVIRON), tree.case_id("mpich40-boost181")
    lost = "launch 2 of 2: 1 of 2 launches completed"
    assert rows == [
        ("failed", lost_case, failure, "netpipe"),
        ("missing", missing_case["case"], "launch 1 of 2: was never launched", "netpipe"),
        ("missing", missing_case["case"], "launch 2 of 2: was never launched", "netpipe"),
        ("missing", lost_case, f"{lost}, 1 failed; the last failure: {failure}", "netpipe"),
        ("missing", mpich_case, f"{lost}, 0 failed", "netpipe"),
        ("skipped", skipped_case["case"], skipped_case["reason"], ""),
    ]


def test_host_names_are_pseudonyms_everywhere(make_tree: Maker) -> None:
    tree = make_tree(launches=2)
    stage = tree.fail_launch(2, ENVIRON, fail_reason="job error: on THUNDERBOLT.example.org")
    (stage / "rfm_job.err").write_text("thunderbolt: Killed\n")
    built = bundle.build_bundle(tree.path)
    for name, data in files(built).items():
        assert b"thunderbolt" not in data.lower(), name
    text = read_cases(tree).write_json()
    assert "thunderbolt" not in text.lower()
    host = pseudonym()
    assert f"job error: on {host}; last words: {host}: Killed" in text
    site = json.loads((built / "env" / "site-config.json").read_text())
    assert site["partitions"][0]["name"] == "smp"
    assert re.fullmatch(DIGEST_PATTERN, site["hostnames"])


def test_nothing_is_an_error(tree: SyntheticTree) -> None:
    tree.fail_launch(1, ENVIRON, fail_reason="sanity error: ran with 1 ranks instead of 2")
    with pytest.raises(UserError, match=r"none of 1 launches completed.*ran with 1 ranks"):
        bundle.build_bundle(tree.path)
    shutil.rmtree(tree.path / "rounds")
    with pytest.raises(UserError, match="no launch in this run"):
        bundle.build_bundle(tree.path)


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"state\.json: missing"):
        bundle.build_bundle(tmp_path)


def test_a_full_disk_leaves_nothing(make_tree: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = make_tree(launches=1)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="free some space"):
        bundle.build_bundle(tree.path)
    assert list((tree.path / "bundles").iterdir()) == []


def test_the_runs_own_thresholds_win(make_tree: Maker) -> None:
    tree = make_tree(launches=1)
    text = (bundle.build_bundle(tree.path) / "analysis.toml").read_text()
    (tree.path / "analysis.toml").write_text(text.replace("= 0.95 ", "= 0.90 "))
    changed_text = (bundle.build_bundle(tree.path) / "analysis.toml").read_text()
    assert "confidence_level = 0.90" in changed_text


def test_a_changed_file_is_found(bundle_path: Path) -> None:
    with (bundle_path / "samples.parquet").open("r+b") as stream:
        stream.seek(40)
        stream.write(b"\0\1")
    with pytest.raises(UserError, match=r"samples\.parquet is not the file"):
        manifest.verify(bundle_path)


def test_a_missing_and_an_unlisted_file_are_found(bundle_path: Path) -> None:
    extra = bundle_path / "more.txt"
    for make in (extra.touch, lambda: extra.symlink_to(bundle_path / "env")):
        make()
        with pytest.raises(UserError, match=r"more\.txt is not in the manifest"):
            manifest.verify(bundle_path)
        extra.unlink()
    (bundle_path / "env" / "host.json").unlink()
    with pytest.raises(UserError, match=r"env/host\.json is missing"):
        manifest.verify(bundle_path)


OUTSIDE = ["../secret", "/etc/passwd", "env/../../secret", "./samples.parquet", "a\\b", "", "x\0"]


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        *((path, "not inside the bundle") for path in OUTSIDE),
        ("env", "is missing"),
        pytest.param("x" * 5000, "is too long", id="long"),
    ],
)
def test_no_path_leads_out_of_a_bundle(bundle_path: Path, path: str, complaint: str) -> None:
    (bundle_path.parent / "secret").write_text("s")
    with content(bundle_path / "manifest.json") as data:
        data["files"][path] = manifest._file_entry(bundle_path.parent / "secret")
    with pytest.raises(UserError, match=complaint):
        manifest.verify(bundle_path)


@pytest.mark.parametrize("name", ["campaign.toml", "env"])
def test_no_symbolic_link_leads_out_of_a_bundle(bundle_path: Path, name: str) -> None:
    outside, place = bundle_path.parent / "outside", bundle_path / name
    place.rename(outside)
    place.symlink_to(outside)
    with pytest.raises(UserError, match="symbolic link"):
        manifest.verify(bundle_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": {}}', "\udcff"])
def test_what_is_no_manifest(bundle_path: Path, text: str) -> None:
    (bundle_path / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=r"manifest\.json"):
        manifest.verify(bundle_path)


def test_a_manifest_cannot_name_a_path_as_its_campaign(bundle_path: Path) -> None:
    for campaign in ("../../etc", "..", ".", "", "a/b"):
        edit(bundle_path / "manifest.json", campaign=campaign)
        with pytest.raises(UserError, match="campaign: .*a name has"):
            manifest.verify(bundle_path)
