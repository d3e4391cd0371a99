"""Where published reports are, how one is added, and that no other module knows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import store

SOURCE = Path(__file__).parents[2] / "src" / "roundtrip"
#: Names of the layout, alone or in a path.
NAMES = re.compile(
    r"(^|/)(bundle|imported|report\.(html|json|md)|summary\.md|warnings\.txt|search\.json|"
    r"source\.json)(/|$)"
)
STORE_NAME = re.compile(r"store\.[A-Z_]+")
#: What only a folder of a disk answers: a store of objects lists by its own functions.
LISTING = re.compile(r"store\.[a-z_]+_folders?\(.*\)\.(is_dir|exists|glob|rglob|iterdir|mkdir)")
#: What a file has in which any of them may be; parsing all files takes long.
CANDIDATE = re.compile(
    r"""["'/](bundle|imported|report\.|summary\.|warnings\.|search\.|source\.)|/ store\.[A-Z]"""
    r"|folders?\(.*\)\."
)
#: Other things of that name: the report of a session of ReFrame, an argument, a default.
OTHERS = {
    *(("measure/" + name, "report.json") for name in ("launches.py", "reader.py", "session.py")),
    *(("sites/trials.py", "report.json"), ("studies/npb/marks.py", "bundle")),
    *(("cli/share.py", "imported"), ("history/imported_nights.py", "imported")),
}


def uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of each name of the layout, of each path that is joined with one, and of each
    question to the disk about a folder of the store."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if NAMES.search(node.value) and id(node) not in documentation:
                yield node.lineno, node.value
        elif isinstance(node, ast.BinOp | ast.Attribute):
            joined = isinstance(node, ast.BinOp) and ast.unparse(node.right)
            if STORE_NAME.fullmatch(joined or "") or LISTING.fullmatch(ast.unparse(node)):
                yield node.lineno, ast.unparse(node)


def test_no_other_module_knows_where_a_bundle_is() -> None:
    drafts = "draft / store.IMPORT_SOURCE_FILE"  # a folder that nobody finds yet
    found = [
        f"{file}:{line}: {text}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (file := path.relative_to(SOURCE).as_posix()) != "measure/store.py"
        if CANDIDATE.search(source := path.read_text())
        for line, text in uses(ast.parse(source))
        if (file, text) not in OTHERS and text != drafts
    ]
    assert found == []


def test_a_path_that_is_joined_by_hand_is_found() -> None:
    code = 'page = one / "report.html"; x = f"{night}/bundle"; y = night / store.FACTS_FILE'
    code += "; z = store.imports_folder(site).is_dir()"
    assert len(list(uses(ast.parse(code)))) == 4


@pytest.mark.parametrize(
    ("name", "is_night"),
    [
        *(("2026-11-21", True), ("2026-11-21.2", True), ("2026-11-21.0", False)),
        *(("2026-11-21.x", False), ("imported", False), (".2026-11-21", False)),
    ],
)
def test_the_name_of_the_folder_of_a_night(name: str, is_night: bool, tmp_path: Path) -> None:
    site = store.site_folder(tmp_path, "smoke", "odin")
    revision = site / name / "r1"
    revision.mkdir(parents=True)
    assert (store.all_revisions(site) == [revision]) is is_night
    place = ("smoke", "odin", "2026-11-21") if is_night else None
    assert store.campaign_site_date(revision) == place


def test_nights_and_revisions_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    nights = ("2026-11-21.10", "2026-11-21.2", "2026-11-20", "2026-11-21")
    for night in nights:
        for name in ("r10", "r9", "r0", "rx"):
            (tmp_path / night / name).mkdir(parents=True)
    (tmp_path / "2026-11-22").symlink_to("2026-11-21")
    folders = [store.bundle_folder(path) for path in store.all_revisions(tmp_path)]
    labels = [store.revision_name(folder) for folder in folders]
    order = ("2026-11-20", "2026-11-21", "2026-11-21.2", "2026-11-21.10")
    assert labels == [f"{night}/{name}" for night in order for name in ("r9", "r10")]


def test_a_second_night_of_a_date_has_a_number(tmp_path: Path) -> None:
    (tmp_path / "2026-11-21").mkdir()
    assert store.night_folder(tmp_path, "2026-11-21", is_free=True).name == "2026-11-21"
    for name in ("2026-11-21", "2026-11-21.2"):
        (tmp_path / name / "r1").mkdir(parents=True)
    assert store.night_folder(tmp_path, "2026-11-21", is_free=True).name == "2026-11-21.3"
    assert store.night_folder(tmp_path, "2026-11-21").name == "2026-11-21"


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("odin/smoke/2026-11-21", "smoke/odin/2026-11-21"),
        ("odin/smoke/2026-11-21.2/", "smoke/odin/2026-11-21.2"),
        ("odin/smoke/2026-11-21/r2", "smoke/odin/2026-11-21/r2"),
        ("odin/2026-11-21", None),
        ("a/odin/smoke/2026-11-21", None),
    ],
)
def test_users_name_the_site_first(words: str, path: str | None, tmp_path: Path) -> None:
    assert store.find_by_name(tmp_path, words) == (tmp_path / path if path else None)


def test_a_revision_is_added_whole_or_not_at_all(tmp_path: Path) -> None:
    site = store.site_folder(tmp_path, "smoke", "odin")
    night = store.night_folder(site, "2026-11-21")
    for number in (1, 2):
        with store.hold_folder(site), files.draft_folder(site) as draft:
            (draft / "page").write_text(str(number))
            assert store.all_revisions(site) == store.revisions(night)[: number - 1]
            revision = store.add_revision(draft, night, {"digest": "d"})
        assert revision.name == f"r{number}" and store.read_facts(revision)
        facts = store.read_facts(revision)
        assert facts and facts["files"].keys() == {"page"}
    with pytest.raises(ValueError), store.hold_folder(site), files.draft_folder(site) as draft:
        (draft / "page").touch()
        raise ValueError
    assert len(store.all_revisions(site)) == 2 and not list(site.glob(".partial*"))


def test_what_is_there_is_never_overwritten_by_a_copy(tmp_path: Path) -> None:
    source, night = tmp_path / "r1", tmp_path / "public" / "2026-11-21"
    source.mkdir()
    (source / "page").write_text("one")
    night.parent.mkdir()
    digests = store.digest_by_path(source)
    assert store.add_copy(source, night, digests) == (night / "r1", False)
    assert store.add_copy(source, night, digests) == (night / "r1", True)
    (source / "page").write_text("two")
    with pytest.raises(UserError, match="already published with other content"):
        store.add_copy(source, night, store.digest_by_path(source))
    with pytest.raises(UserError, match="changed while it was copied"):
        store.add_copy(source, tmp_path / "public" / "2026-11-22", digests)
    assert [path.name for path in night.parent.iterdir()] == ["2026-11-21"]


def test_an_import_is_beside_the_nights(tmp_path: Path) -> None:
    with store.hold_folder(tmp_path), files.draft_folder(tmp_path) as draft:
        (draft / "values").touch()
        assert store.import_folders(tmp_path) == []
        folder = store.add_import(draft, tmp_path, "d" * 16)
    assert store.import_folders(tmp_path) == [folder] and store.is_import_folder(folder)
    assert store.night_folders(tmp_path) == []


def test_the_stamp_of_a_bundle_changes_with_each_file(tmp_path: Path) -> None:
    folder = store.bundle_folder(tmp_path)
    assert store.folder_stamp(folder) == ""
    file = folder / "env" / "host.json"
    file.parent.mkdir(parents=True)
    stamps = [store.folder_stamp(folder)]
    for content in ("1", "12"):
        file.write_text(content)
        stamps.append(store.folder_stamp(folder))
    store.file_path(tmp_path, store.PAGE_FILE).touch()
    assert len({*stamps}) == 3 and store.folder_stamp(folder) == stamps[-1]
