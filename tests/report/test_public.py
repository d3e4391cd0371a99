"""Publishing for a static host: whole and clean revisions, never over another, no name in them."""

import getpass
import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import redigest_report
from support.command import run_roundtrip
from support.synthetic import SyntheticTree

from roundtrip.errors import UserError
from roundtrip.history.importer import ImportOptions, import_files
from roundtrip.measure import bundle, manifest, pseudonyms, signature
from roundtrip.report import public, publish
from roundtrip.report.build import Correction

DATA = Path(__file__).parents[1] / "data" / "reframe" / "4.10.4-multiline"
HOST, LATE = "thunderbolt", "2026-11-21T22:00:00Z"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published report in ``reports``, and the run tree ``run`` that it is of."""
    folder = tmp_path_factory.mktemp("master")
    tree = SyntheticTree(folder / "run", launches=2, sizes=[1, 64], samples=2).write()
    publish.publish(bundle.build_bundle(tree.path), folder / "reports")
    return folder


@pytest.fixture
def revision(master: Path, tmp_path: Path) -> Path:
    shutil.copytree(master, tmp_path, dirs_exist_ok=True)
    return tmp_path / "reports" / "synthetic" / "local" / "2026-11-21" / "r1"


def forged(revision: Path, **facts: Any) -> Path:
    """The same revision of a bundle with other facts, as if it had been published so."""
    old_facts = json.loads((revision / "bundle" / manifest.MANIFEST_FILE).read_text())
    manifest.write_unsigned(revision / "bundle", {**old_facts, **facts})
    return redigest_report(revision)


def run(*arguments: object) -> tuple[int, list[str], list[str]]:
    """Exit status, and the lines of standard output and of standard error."""
    done = run_roundtrip("publish", *arguments)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def test_a_report_is_copied_once_with_an_index(revision: Path, tmp_path: Path) -> None:
    destination = tmp_path / "public"
    target = destination / "synthetic" / "local" / "2026-11-21" / "r1"
    status, lines, _ = run(revision, "--to", destination)
    signer = signature.check_signature(target / "bundle", manifest.verify(target / "bundle"))
    assert signer.state == "signed" and signer.key.endswith(" (roundtrip local)")
    line = f"published: {target} (signed by {signer.key})"
    assert (status, lines) == (0, [line, f"index: {destination}/index.html"])
    assert publish.verify_revision(target) == []
    assert "2026-11-21/r1/report.html" in (destination / "index.html").read_text()
    status, lines, _ = run(tmp_path / "reports", revision / "report.html", "--to", destination)
    assert (status, lines[0]) == (0, f"already there: {target} (signed by {signer.key})")
    assert len(lines) == 2
    assert {path.name for path in target.iterdir()} == {path.name for path in revision.iterdir()}


def test_a_correction_is_not_published_without_what_it_corrects(
    revision: Path, tmp_path: Path
) -> None:
    reports, destination = tmp_path / "reports", tmp_path / "public"
    correction = publish.publish(revision / "bundle", reports, Correction("r1", "wrong axis"))
    why = "it supersedes r1, which is not published: publish both"
    status, _, refusals = run(correction, "--to", destination)
    assert (status, refusals) == (1, [f"refused: {correction}: {why}"])
    status, lines, _ = run(correction, revision, "--to", destination)
    assert status == 0
    assert [Path(line.split(" (")[0]).name for line in lines[:2]] == ["r1", "r2"]


def test_a_second_night_of_a_date_has_a_folder_of_its_own(revision: Path, tmp_path: Path) -> None:
    tree = SyntheticTree(tmp_path / "late", 2, sizes=[1, 64], samples=2, seed=2, started=LATE)
    late_bundle = bundle.build_bundle(tree.write().path)
    late_revision = publish.publish(late_bundle, tmp_path / "elsewhere")
    destination = tmp_path / "public"
    assert run(revision, late_revision, "--to", destination)[0] == 0
    nights = sorted(path.name for path in (destination / "synthetic" / "local").glob("2026*"))
    assert nights == ["2026-11-21", "2026-11-21.2"]
    assert run(late_revision, "--to", destination)[1][0].startswith("already there")


@pytest.mark.parametrize(
    ("git", "why"),
    [
        ({"commit": "0" * 40, "dirty": True}, "uncommitted changes.*git stash"),
        ({"commit": "0" * 40, "dirty": None}, "which commit"),
        ({"commit": None, "dirty": None}, "which commit"),
    ],
)
def test_a_run_that_nobody_can_repeat_is_refused(
    revision: Path, tmp_path: Path, git: dict[str, Any], why: str
) -> None:
    status, _, refusals = run(forged(revision, git=git), "--to", tmp_path / "public")
    assert status == 1 and re.search(why, refusals[0])
    assert not list((tmp_path / "public").rglob("r1"))


@pytest.mark.parametrize("what", ["report.html", "bundle/samples.parquet", "report.json", "more"])
def test_a_changed_revision_is_refused(revision: Path, tmp_path: Path, what: str) -> None:
    file = revision / what
    file.write_bytes((file.read_bytes() if file.exists() else b"") + b" ")
    status, _, refusals = run(revision, "--to", tmp_path / "public")
    assert status == 1 and len(refusals) == 1
    assert not list((tmp_path / "public").rglob("report.html"))


def test_nothing_is_overwritten(revision: Path, tmp_path: Path) -> None:
    destination = tmp_path / "public"
    run(revision, "--to", destination)
    target = destination / revision.relative_to(tmp_path / "reports")
    page = target / "report.html"
    page.write_text("mine")
    why = "already published with other content, and never overwritten"
    status, _, refusals = run(revision, "--to", destination)
    assert (status, refusals) == (1, [f"refused: {target}: {why}"])
    assert page.read_text() == "mine"


def test_a_copy_that_fails_leaves_nothing_half(
    revision: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(UserError, match="No space left"):
        public.copy_to_public(revision, tmp_path / "public")
    site = tmp_path / "public" / "synthetic" / "local"
    assert [path.name for path in site.iterdir()] == [".lock"]


def test_a_tree_that_cannot_be_written_is_status_2(revision: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, errors = run(revision, "--to", tmp_path / "file" / "public")
    assert status == 2 and "Not a directory" in errors[0]


@pytest.mark.nightly
def test_processes_at_the_same_time_publish_one(revision: Path, tmp_path: Path) -> None:
    program = "from pathlib import Path; from roundtrip.report import public; import sys; "
    program += "print(public.copy_to_public(Path(sys.argv[1]), Path(sys.argv[2])).existed_before)"
    command = [sys.executable, "-c", program, str(revision), str(tmp_path / "public")]

    def one(_: int) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(one, range(3))) == ["False", "True", "True"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("none", "neither a published report nor a folder of some"),
        ("empty", "neither a published report nor a folder of some"),
        ("circle", "its symbolic links lead in a circle"),
    ],
)
def test_what_is_no_report_is_status_2(tmp_path: Path, place: str, why: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    error = f"roundtrip: {tmp_path / place}: {why}"
    assert run(tmp_path / place, "--to", tmp_path / "public") == (2, [], [error])
    assert not (tmp_path / "public").exists()


def texts(tree: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file of a tree; of tables all that they say."""
    for file in (path for path in tree.rglob("*") if path.is_file()):
        is_table = file.suffix == ".parquet"
        yield file, pl.read_parquet(file).write_json().encode() if is_table else file.read_bytes()


def test_no_name_of_the_machine_its_user_its_folders_or_key_is_published(
    revision: Path, tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    assert revision.is_relative_to(reports)
    import_files(reports, "synthetic", "local", [DATA], ImportOptions())
    assert run(reports, "--to", tmp_path / "public")[0] == 0
    secrets = [HOST, str(tmp_path), str(Path.home()), "nid001"]
    secrets.append(pseudonyms.ensure_site_key("local").decode())
    for name in (socket.gethostname(), getpass.getuser()):
        # Of a word of English, such as root, only a path or an account would be a leak.
        secrets += [name] if re.search(r"\d", name) else [f"/{name}/", f"{name}@", f"@{name}"]
    public_files = dict(texts(tmp_path / "public"))
    names = {file.name for file in public_files}
    assert {"report.html", "values.parquet", "index.html", "cases.parquet"} <= names
    for file, content in public_files.items():
        assert not [text for text in secrets if text.encode() in content], file
    assert HOST in json.dumps([str(text) for _, text in texts(tmp_path / "run")])
