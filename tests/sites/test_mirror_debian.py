"""Source archives that a mirror takes from Debian: those of the recipes' checksums, by apt."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest
from support.sources import WRONG, checksum, filled

from roundtrip.sites import mirror, mirror_debian
from roundtrip.sites.mirror import Debian, Sources

ROOT = Path(__file__).parents[2]
needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get here")


@needs_apt
def test_an_archive_of_debian_lies_where_spack_looks(tmp_path: Path, pool: Path) -> None:
    sources = Sources(debian={"demo": Debian(package="demo", sha256=checksum(pool))})

    said = filled(tmp_path / "mirror", sources)

    assert said == {"demo": ("ok", "Debian's demo_1.0.orig.tar.xz")}
    held = [file for file in (tmp_path / "mirror").rglob("*") if file.is_file()]
    assert held == [mirror.place(tmp_path / "mirror", checksum(pool), ".tar.xz")]
    assert held[0].read_bytes() == pool.read_bytes()
    pool.unlink()
    assert filled(tmp_path / "mirror", sources) == {"demo": ("ok", "there already")}


@needs_apt
def test_of_several_versions_that_of_the_recipe_is_taken(tmp_path: Path, pool: Path) -> None:
    """apt itself takes the newest, where two suites are known."""
    own = (pool.parent / "Sources").read_text()
    newer = own.replace("Version: 1.0-1", "Version: 2.0-1").replace(checksum(pool), WRONG)
    with (pool.parent / "Sources").open("a") as file:
        file.write("\n" + newer.replace(pool.name, "demo_2.0.orig.tar.xz"))
    sources = Sources(debian={"demo": Debian(package="demo", sha256=checksum(pool))})

    assert filled(tmp_path / "mirror", sources) == {"demo": ("ok", f"Debian's {pool.name}")}


@pytest.mark.parametrize(
    ("suffix", "configured", "wanted"),
    [
        (
            ".sources",
            "Types: deb\nURIs: http://x/debian\nSuites: own own-updates\nComponents: main\n\n"
            "Types: deb\nURIs: http://x/security\nSuites: own-security\nComponents: main\n",
            "Types: deb-src\nURIs: http://x/debian\nSuites: next\nComponents: main\n",
        ),
        (
            ".list",
            "deb [signed-by=/k] http://x/debian own main\ndeb http://x/debian own-updates main\n",
            "deb-src [signed-by=/k] http://x/debian next main\n",
        ),
    ],
)
def test_another_suite_is_asked_where_the_own_one_is(
    monkeypatch: pytest.MonkeyPatch, suffix: str, configured: str, wanted: str
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "own"})
    said = mirror_debian._as_source(configured, suffix, ["next"])
    alone = mirror_debian._as_source(configured, suffix)
    assert said.split("\n\n")[-1] == wanted
    assert said.split("\n\n")[:-1] == alone.strip().split("\n\n")
    assert "next" not in alone


@needs_apt
def test_a_broken_archive_is_brought_again(tmp_path: Path, pool: Path) -> None:
    sources = Sources(debian={"demo": Debian(package="demo", sha256=checksum(pool))})
    filled(tmp_path / "mirror", sources)
    held = mirror.place(tmp_path / "mirror", checksum(pool), ".tar.xz")
    held.write_bytes(b"half of it")

    assert filled(tmp_path / "mirror", sources)["demo"] == ("ok", "Debian's demo_1.0.orig.tar.xz")
    assert held.read_bytes() == pool.read_bytes()


@needs_apt
def test_another_version_of_debian_is_refused_by_name(tmp_path: Path, pool: Path) -> None:
    verdict, told = filled(
        tmp_path / "mirror", Sources(debian={"demo": Debian(package="demo", sha256=WRONG)})
    )["demo"]

    assert verdict == "fault"
    assert "another version of source package demo (demo_1.0.orig.tar.xz)" in told
    assert not list((tmp_path / "mirror").iterdir())


def test_the_real_apt_offers_what_the_recipes_want(tmp_path: Path) -> None:
    """NetPIPE's archive, the smallest, from the Debian that this machine is of."""
    shipped = mirror.read([ROOT / mirror.SHIPPED])
    (item,) = mirror.fill(tmp_path, Sources(debian={"netpipe": shipped.debian["netpipe"]}), {})
    if item.verdict == "fault":
        pytest.skip(f"needs Debian 12 and its archive: {item.detail}")
    assert item.size == 400248
