"""A report is the same bytes wherever it is rebuilt: fonts, clock, paths and locale have no say."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.synthetic import Tree

from roundtrip.measure import bundle
from roundtrip.report import publish

CHECKOUT = Path(__file__).parents[2]
FONTS = Path("/usr/share/fonts")
FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
#: Families that figures ask for; a machine may have any of them, in any version.
FAMILIES = ("Inter", "Arial", "Helvetica", "Liberation Sans")
SCRIPT = (
    "import os, sys, time; from pathlib import Path; os.umask(0o077);"
    "from roundtrip.report import publish; publish.write(Path(sys.argv[1]), Path(sys.argv[2]));"
    "print(time.localtime().tm_year, publish.__file__)"
)
pytestmark = pytest.mark.nightly  # each loads the package and draws in a process of its own
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


@pytest.fixture(scope="module")
def revision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everywhere")
    tree = Tree(folder / "run", launches=6, environs=("openmpi41-boost181",), samples=5)
    tree.sizes = [1, 64, 1024, 65536, 1 << 20]
    return publish.publish(bundle.build(tree.write().path), folder / "reports")


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def published(revision: Path) -> dict[str, bytes]:
    files = contents(revision)
    prefixes = ("bundle/", "report.json")
    return {name: content for name, content in files.items() if not name.startswith(prefixes)}


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
    assert contents(target) == published(revision)
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


def test_without_fonts(revision: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    rebuild(revision, tmp_path, [f"mount --bind '{tmp_path}/none' {FONTS}"])


def test_with_other_fonts(revision: Path, tmp_path: Path) -> None:
    """Of the very families that figures ask for, but wider: text would take more room."""
    fonts = sorted(FONTS.rglob("DejaVuSansMono-Bold.ttf")) or sorted(FONTS.rglob("*.ttf"))
    if not fonts:
        pytest.skip("no TrueType font to rename: apt install fonts-dejavu-core")
    (tmp_path / "other").mkdir()
    for family in FAMILIES:
        (tmp_path / "other" / f"{family}.ttf").write_bytes(renamed(fonts[0], family))
    rebuild(revision, tmp_path, [f"mount --bind '{tmp_path}/other' {FONTS}"])


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
