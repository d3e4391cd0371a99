"""Reports are published once, verified, and the same bytes wherever they are rebuilt."""

import errno
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.command import run_roundtrip
from support.json_files import edit
from support.synthetic import SyntheticTree

from roundtrip.cli import common
from roundtrip.errors import UserError
from roundtrip.history import ledger
from roundtrip.measure import bundle, store
from roundtrip.report import public, publish
from roundtrip.report.build import Correction
from roundtrip.report.compare.side import open_sources
from roundtrip.report.pages import write

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]


@pytest.fixture
def tree(make_tree: Maker) -> Any:
    return make_tree(launches=6, environs=(ENVIRON,))


@pytest.fixture
def bundle_path(tree: Any) -> Path:
    return bundle.build_bundle(tree.path)


@pytest.fixture
def revision(bundle_path: Path, tmp_path: Path) -> Path:
    return publish.publish(bundle_path, tmp_path)


def test_a_bundle_is_published_once(bundle_path: Path, tmp_path: Path) -> None:
    first = publish.publish(bundle_path, tmp_path / "reports")
    assert first == tmp_path / "reports" / "synthetic" / "local" / "2026-11-21" / "r1"
    assert publish.publish(bundle_path, tmp_path / "reports") == first
    assert [path.name for path in first.parent.iterdir()] == ["r1"]
    names = {"bundle", "figures", "report.html", "report.json", "report.md", "summary.md", "tables"}
    assert {path.name for path in first.iterdir()} == names
    assert publish.publish(first / "bundle", tmp_path / "reports") == first


def test_a_run_that_is_collected_again_with_other_launches_is_corrected(
    tree: Any, tmp_path: Path
) -> None:
    first = publish.publish(bundle.build_bundle(tree.path), tmp_path)
    page_bytes = (first / "report.html").read_bytes()
    tree.fail_launch(6, ENVIRON, fail_reason="sanity error")
    second = publish.publish(bundle.build_bundle(tree.path), tmp_path)
    assert (first.name, second.name, second.parent) == ("r1", "r2", first.parent)
    assert (first / "report.html").read_bytes() == page_bytes
    assert "supersedes r1" in (second / "report.md").read_text()
    assert publish.publish(bundle.build_bundle(tree.path), tmp_path) == second
    assert publish.verify_revision(second) == []


def test_a_correction_says_what_it_supersedes_and_why(bundle_path: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no revision r1 to supersede"):
        publish.publish(bundle_path, tmp_path, Correction("r1", "wrong axis"))
    publish.publish(bundle_path, tmp_path)
    correction = publish.publish(bundle_path, tmp_path, Correction("r1", "wrong axis"))
    assert correction.name == "r2"
    assert publish.publish(bundle_path, tmp_path, Correction("r1", "wrong axis")) == correction
    for name in ("report.html", "report.md"):
        text = (correction / name).read_text()
        assert "supersedes r1" in text and "wrong axis" in text
    assert publish.verify_revision(correction) == []


def test_a_report_is_rebuilt_byte_for_byte(revision: Path) -> None:
    assert publish.verify_revision(revision) == []
    page = revision / "report.html"
    page.write_text(page.read_text().replace("The answer", "The Answer"))
    (revision / "figures" / "more.svg").write_text("<svg/>")
    (revision / "report.md").unlink()
    assert publish.verify_revision(revision) == ["figures/more.svg", "report.html", "report.md"]


def test_every_byte_of_a_revision_is_verified(revision: Path) -> None:
    """Links, empty folders, report.json and whatever lies beside the bundle's files."""
    facts = revision / "report.json"
    facts.write_text(facts.read_text() + " ")
    (revision / "figures" / "link.svg").symlink_to("/etc/hostname")
    (revision / "folder").symlink_to("/etc")
    (revision / "empty").mkdir()
    os.mkfifo(revision / "fifo")
    wrong_files = ["empty", "fifo", "figures/link.svg", "folder", "report.json"]
    assert publish.verify_revision(revision) == wrong_files
    (revision / "bundle" / "more").symlink_to("/etc")
    with pytest.raises(UserError, match="more is not in the manifest"):
        publish.verify_revision(revision)


def test_publishing_over_a_damaged_revision_says_so(
    bundle_path: Path, revision: Path, tmp_path: Path
) -> None:
    for name in ("report.html", "figures/more.svg", "report.json"):
        whole = shutil.copytree(revision, tmp_path / "whole")
        (revision / name).write_text("{")
        with pytest.raises(UserError, match=f"r1: {name} is not as it was published"):
            publish.publish(bundle_path, tmp_path)
        shutil.rmtree(revision)
        whole.rename(revision)
    assert publish.publish(bundle_path, tmp_path) == revision
    (revision / "report.html").write_text("")
    assert publish.publish(bundle_path, tmp_path, Correction("r1", "it was damaged")).name == "r2"
    for name in ("../r1", "r0", "figures"):
        with pytest.raises(UserError, match="there is no revision"):
            publish.publish(bundle_path, tmp_path, Correction(name, "why"))


def test_a_revision_from_before_the_digests_of_its_files(
    bundle_path: Path, revision: Path, tmp_path: Path
) -> None:
    facts = json.loads((revision / "report.json").read_text())
    del facts["files"]
    (revision / "report.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
    assert publish.verify_revision(revision) == []
    assert publish.publish(bundle_path, tmp_path) == revision


def test_a_tampered_bundle_is_not_published(bundle_path: Path, tmp_path: Path) -> None:
    (bundle_path / "campaign.toml").write_text('title = "mine"\n')
    with pytest.raises(UserError, match=r"campaign\.toml is not the file"):
        publish.publish(bundle_path, tmp_path / "reports")
    assert not (tmp_path / "reports").exists()


def test_a_full_disk_is_one_line_and_leaves_no_half_report(
    bundle_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(UserError, match="free some space"):
        publish.publish(bundle_path, tmp_path / "reports")
    assert [f.name for f in (tmp_path / "reports").rglob("*.*")] == [".lock"]


def test_a_name_taken_by_another_process_is_not_overwritten(
    bundle_path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "synthetic" / "local" / "2026-11-21"
    (folder / "r1").mkdir(parents=True)
    (folder / "r1" / "notes.txt").write_text("mine")
    revision = publish.publish(bundle_path, tmp_path)
    assert revision == folder.with_name("2026-11-21.2") / "r1"
    assert (folder / "r1" / "notes.txt").read_text() == "mine"


def test_the_command_line(tree: Any, tmp_path: Path) -> None:
    status, out, err = run_roundtrip("report", tree.path, "--output", tmp_path / "out", "--verify")
    assert status == 0, err
    page = tmp_path / "out" / "synthetic" / "local" / "2026-11-21" / "r1" / "report.html"
    first, last = out.splitlines()
    signer = r"signed by SHA256:\S{43} \(roundtrip local\)"
    assert re.fullmatch(f"verified: rebuilt byte for byte; {signer}", first)
    assert last == f"report: {page}"
    page.write_text("")
    status, _, err = run_roundtrip("report", page.parent, "--verify")
    assert status == 1
    assert "report.html: differs when rebuilt" in err


def test_a_report_is_verified_or_corrected(revision: Path) -> None:
    status, out, err = run_roundtrip(
        "report", revision, "--verify", "--supersedes", "r1", "--reason", "a typo"
    )
    assert (status, out) == (2, "")
    assert "corrects none: leave --supersedes out" in err
    status, out, err = run_roundtrip("report", revision, "--supersedes", "r1", "--reason", " ")
    assert (status, out) == (2, "")
    assert "an argument is empty after --reason" in err


def test_the_command_line_refuses_in_one_line(tree: Any, tmp_path: Path) -> None:
    edit(tree.path / "state.json", campaign="../../etc")
    for arguments in (
        ("collect", tree.path),
        ("report", tree.path),
        ("report", tmp_path / "nowhere"),
        ("report", tree.path, "--supersedes", "r1"),
    ):
        status, out, err = run_roundtrip(*arguments)
        assert (status, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert err.startswith("roundtrip: ")


def test_only_the_store_knows_the_names_of_a_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"_BUNDLE_FOLDER": "data", "FACTS_FILE": "facts.json", "PAGE_FILE": "index.htm"}
    for name, value in names.items():
        monkeypatch.setattr(store, name, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ROUNDTRIP_REPORTS", str(tmp_path / "reports"))
    small: dict[str, Any] = {"environs": (ENVIRON,), "sizes": [1], "launches": 2, "samples": 3}
    tree = SyntheticTree(tmp_path / "run", started="2026-11-21T07:00:00Z", **small)
    revision = publish.publish(bundle.build_bundle(tree.write().path), tmp_path / "reports")
    published_names = {path.name for path in revision.iterdir()}
    assert set(names.values()) < published_names and "bundle" not in published_names
    assert publish.verify_revision(revision) == []
    site = revision.parents[1]
    nights = ledger.read_ledger(tmp_path / "reports", "synthetic", "local")
    assert nights.warnings == () and nights.nights["night"].n_unique() == 1
    write.write_pages(tmp_path / "reports")
    assert "2026-11-21/r1/index.htm" in (site / write.HISTORY).read_text()
    assert common.newest_night("local") == revision / "index.htm"
    with open_sources(tmp_path / "reports") as sources:
        side = sources.side("local/synthetic/2026-11-21")
    assert side.run == "local/synthetic/2026-11-21/r1"
    facts = json.loads((revision / "facts.json").read_text())
    assert facts["digest"] == side.data.manifest.digest
    assert public.list_revisions([tmp_path / "reports"]) == store.all_revisions(site)


CHECKOUT = Path(__file__).parents[2]
FONTS = Path("/usr/share/fonts")
FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
#: Families that figures ask for; a machine may have any of them, in any version.
FAMILIES = ("Inter", "Arial", "Helvetica", "Liberation Sans")
SCRIPT = (
    "import os, sys, time; from pathlib import Path; os.umask(0o077);"
    "from roundtrip.report import publish;"
    "publish.write_revision(Path(sys.argv[1]), Path(sys.argv[2]));"
    "print(time.localtime().tm_year, publish.__file__)"
)
nightly = pytest.mark.nightly  # each loads the package and draws in a process of its own
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def rebuild(
    revision: Path, folder: Path, setup: Sequence[str] = (), source: Path = CHECKOUT, **env: str
) -> str:
    """Rebuild the pages in another process, after the shell commands `setup` in a namespace."""
    target = folder / "rebuilt"
    target.mkdir(parents=True)
    command = [sys.executable, "-c", SCRIPT, str(revision / "bundle"), str(target)]
    if setup:
        script = " && ".join([*setup, 'exec "$@"'])
        command = [*NAMESPACE, "sh", "-c", script, "sh", *command]
    path = os.pathsep.join([str(source / "src"), *sys.path])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, **env}
    process = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if setup and "Operation not permitted" in process.stderr:
        pytest.skip("no mount namespace here")
    assert process.returncode == 0, process.stderr
    drawn = {name for name in contents(revision) if not name.startswith(("bundle/", "report.json"))}
    assert contents(target) == {name: contents(revision)[name] for name in drawn}
    return process.stdout


def renamed(font: Path, family: str) -> bytes:
    """The TrueType font under another family name (of its `name` table, records 1 and 16)."""
    content = bytearray(font.read_bytes())
    (tables,) = struct.unpack_from(">H", content, 4)
    start = next(
        struct.unpack_from(">I", content, 12 + 16 * n + 8)[0]
        for n in range(tables)
        if content[12 + 16 * n :][:4] == b"name"
    )
    _, count, strings = struct.unpack_from(">HHH", content, start)
    for record in range(start + 6, start + 6 + 12 * count, 12):
        platform, _, _, kind, _, offset = struct.unpack_from(">6H", content, record)
        if kind in (1, 16):
            text = family.encode("utf-16-be" if platform in (0, 3) else "latin-1")
            struct.pack_into(">H", content, record + 8, len(text))
            content[start + strings + offset : start + strings + offset + len(text)] = text
    return bytes(content)


@nightly
def test_without_fonts(revision: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    rebuild(revision, tmp_path, [f"mount --bind '{tmp_path}/none' {FONTS}"])


@nightly
def test_with_other_fonts(revision: Path, tmp_path: Path) -> None:
    """Of the very families that figures ask for, but wider: text would take more room."""
    fonts = sorted(FONTS.rglob("DejaVuSansMono-Bold.ttf")) or sorted(FONTS.rglob("*.ttf"))
    if not fonts:
        pytest.skip("no TrueType font to rename: apt install fonts-dejavu-core")
    (tmp_path / "other").mkdir()
    for family in FAMILIES:
        (tmp_path / "other" / f"{family}.ttf").write_bytes(renamed(fonts[0], family))
    rebuild(revision, tmp_path, [f"mount --bind '{tmp_path}/other' {FONTS}"])


@nightly
def test_at_another_place_and_time(revision: Path, tmp_path: Path) -> None:
    """Next year, in Tokyo, in Turkish, by another user, from another checkout."""
    source = tmp_path / "another place"
    shutil.copytree(CHECKOUT / "src", source / "src")
    copy = tmp_path / "moved"
    shutil.copytree(revision, copy)
    settings = {"TZ": "Asia/Tokyo", "LANG": "tr_TR.UTF-8", "LC_ALL": "C", "HOME": "/nonexistent"}
    settings |= {"PYTHONHASHSEED": "77", "POLARS_MAX_THREADS": "1", "SOURCE_DATE_EPOCH": "1"}
    if FAKETIME:
        settings |= {"LD_PRELOAD": str(FAKETIME[0]), "FAKETIME": "+366d"}
    output = rebuild(copy, tmp_path, source=source, **settings)
    year, place = output.split(maxsplit=1)
    assert Path(place.strip()).is_relative_to(source)
    assert not FAKETIME or int(year) > time.localtime().tm_year
