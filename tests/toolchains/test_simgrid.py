"""SimGrid unpacked into a prefix: nothing is installed, and nothing of the system's is used."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from roundtrip import paths
from roundtrip.toolchains import plan as plans
from roundtrip.toolchains import simgrid
from roundtrip.toolchains.debian import Archive
from roundtrip.toolchains.spec import catalogue
from roundtrip.toolchains.store import Store

MADE = catalogue().toolchains["smpi-boost181"]
SCRIPT = '#!/usr/bin/env sh\nCXX=/usr/bin/c++\necho /usr/include /usr/lib/x86_64-linux-gnu "$@"\n'


class _Packages(Archive):
    """Packages with nothing in them but the scripts, made here."""

    def packages(self, names: list[str]) -> list[Path]:
        root = self.work / "root"
        (root / "usr" / "bin").mkdir(parents=True)
        for name in ("smpicc", "smpicxx", "smpirun"):
            (root / "usr" / "bin" / name).write_text(SCRIPT)
            (root / "usr" / "bin" / name).chmod(0o755)
        (root / "usr" / "include" / "boost").mkdir(parents=True)
        (root / "DEBIAN").mkdir()
        control = (
            f"Package: {names[0]}\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: b\n"
        )
        (root / "DEBIAN" / "control").write_text(control)
        deb = self.work / f"{names[0]}_1_all.deb"
        subprocess.run(["dpkg-deb", "-b", root, deb], check=True, capture_output=True)
        return [deb]


def test_scripts_point_into_the_prefix_and_wrappers_define_what_programs_need(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    place = tmp_path / "with space"
    place.mkdir()
    simgrid.make_prefix(MADE.mpi, _Packages(tmp_path / "work", tmp_path / "log"), place)
    names = {path.name for path in (place / "bin").iterdir()}
    assert names == {"smpicc", "smpicxx", "smpirun", "mpicc", "mpicxx", "mpirun", "mpiexec"}
    assert "CXX=/usr/bin/g++\n" in (place / "usr" / "bin" / "smpicxx").read_text()
    said = subprocess.run([place / "bin" / "mpicxx", "-c"], capture_output=True, text=True)
    where = f"{place}/usr"
    assert [path.name for path in (place / "later").iterdir()] == ["boost"]
    options = f"-idirafter{place}/later -DI_MPI_NUMVERSION=1 -c"
    assert said.stdout == f"{where}/include {where}/lib/x86_64-linux-gnu {options}\n"
    assert "-D" not in (place / "bin" / "mpirun").read_text()


@pytest.fixture
def prefix() -> Path:
    store = Store(paths.toolchains())
    if plans.states([MADE], store)[MADE.name] != "good":
        pytest.skip(f"{MADE.name} is not built: roundtrip toolchains {MADE.name}")
    return store.place(plans.plan(MADE).mpi.key)


def test_a_program_without_boost_compiles(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text("#include <mpi.h>\nint main() { return MPI_Init(nullptr, nullptr); }\n")
    command = [prefix / "bin" / "mpicxx", "-std=c++20", source, "-o", tmp_path / "program"]
    subprocess.run(command, check=True, timeout=120)


def test_no_library_of_the_simulator_is_missing(prefix: Path) -> None:
    (library,) = (prefix / "usr" / "lib").glob("*/libsimgrid.so.3.32")
    told = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert "not found" not in told
    assert str(prefix) in told


def test_the_self_test_has_two_hosts_of_the_platform_that_it_writes(tmp_path: Path) -> None:
    _, platform, _, hosts = map(Path, simgrid.two_hosts(tmp_path))
    (cluster,) = ElementTree.parse(platform).iter("cluster")  # noqa: S314  our own
    last = int(cluster.attrib["radical"].removeprefix("0-"))
    names = [f"{cluster.attrib['prefix']}{number}" for number in range(last + 1)]
    assert hosts.read_text().split() == names == ["host0", "host1"]
