"""Builds and tests toolchains that are missing or stale, from Debian packages, wheels and sources.

A prefix has the same layout for every origin of the MPI.  bin/ holds wrappers, not links: Open MPI
finds its programs by the name that starts them, and the compiler must depend neither on the
alternatives of the system nor on the environment of the user.

Debian builds Boost.MPI only for its Open MPI.  For other MPIs the two libraries are compiled from
the source package of Debian, without its patches, which change only the Python bindings.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from roundtrip.sites.machine import distributor_name
from roundtrip.sites.toolchains.spec import (
    CC,
    CXX,
    FLAGS,
    Boost,
    Mpi,
    Plan,
    Toolchain,
    boost_key,
    boost_tar,
    has_apt,
    is_version,
    toolchain_plan,
)
from roundtrip.sites.toolchains.store import AptClient, BuildError, Store, clean_environment, run

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


def fill_mpi_prefix(mpi: Mpi, archive: AptClient, place: Path) -> None:
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
        run("installing the MPI wheel", [*command, *options], archive.log)
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


def fill_simulator_prefix(mpi: Mpi, archive: AptClient, place: Path) -> None:
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
        text = script.read_text()
        for folder in ("lib", "include"):
            text = text.replace(f"/usr/{folder}", f"{place}/usr/{folder}")
        text = text.replace("CC=/usr/bin/cc\n", f"CC={CC}\n")
        script.write_text(text.replace("CXX=/usr/bin/c++\n", f"CXX={CXX}\n"))
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


def fill_boost_headers(boost: Boost, archive: AptClient, place: Path) -> None:
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


def fill_boost_sources(boost: Boost, archive: AptClient, place: Path) -> None:
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


def take_debian_libraries(boost: Boost, archive: AptClient, place: Path) -> str:
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
    return f"{distributor_name()} {names[1]} {debs[1].name.split('_')[1]}"


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


#: Called with the name of a toolchain and its current step, finally ``good``.
StateListener = Callable[[str, str], None]


def selftest_faults(plan: Plan, output: str) -> list[str]:
    """Return the faults in the self-test's output; [] without any."""
    lines = output.strip().splitlines()[-4:]
    if len(lines) < 4:
        return ["the self-test printed no complete answer"]
    ranks, total, boost, library = lines
    faults = []
    if ranks != "2":
        faults.append(f"{ranks} ranks instead of 2: compiler and mpirun are of different MPIs")
    if total != "321":
        faults.append(f"received {total} instead of 321")
    if boost.replace("_", ".") != plan.toolchain.boost.series:
        faults.append(f"Boost headers are {boost}, not {plan.toolchain.boost.series}")
    prefix = plan.toolchain.mpi.kind.answers
    if not is_version(library, prefix, plan.mpi.version, exactly=True):
        faults.append(f"the MPI library is {library!r}, not {plan.mpi.version}")
    return faults


def check_toolchain(plan: Plan, prefix: Path, mpi: Path, log: Path) -> None:
    """Test the toolchain in `prefix` with the MPI in `mpi`; BuildError if it does not work."""
    program, lib = prefix / "selftest", prefix / "lib"
    command = [str(mpi / "bin" / "mpicxx"), "-std=c++20", "-isystem", str(prefix / "include")]
    source = Path(__file__).with_name("selftest.cpp")
    command += [str(source), "-o", str(program), f"-L{lib}", f"-Wl,-rpath,{lib}"]
    run("compiling the self-test", [*command, "-lboost_mpi", "-lboost_serialization"], log)
    launch: list[str | Path] = [mpi / "bin" / "mpirun", "-n", "2"]
    env = clean_environment() | {  # two ranks run anywhere, also as root and on one core
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if os.geteuid() == 0:
        env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        if plan.toolchain.mpi.kind.simulator:
            launch += two_host_options(Path(folder))
        output = run("running the self-test", [*launch, program], log, env=env, timeout=120)
    program.unlink()
    if faults := selftest_faults(plan, output):
        raise BuildError("self-test: " + "; ".join(faults), log, output)


def pending_plans(toolchains: Sequence[Toolchain], store: Store) -> list[Plan]:
    """Return the plans of the toolchains that are missing or stale."""
    plans = [toolchain_plan(toolchain) for toolchain in toolchains]
    return [p for p in plans if store.symlink_key(p.toolchain.name) != p.key]


def build_plans(plans: Sequence[Plan], store: Store, report: StateListener) -> None:
    """Build each plan in turn; BuildError at the first failure.  The caller holds the store."""
    work = store.root / "work"
    try:
        for plan in plans:
            name = plan.toolchain.name
            log = store.log(name)
            report(name, plan.mpi.origin)
            archive = AptClient(work, log)
            fill = fill_simulator_prefix if plan.mpi.mpi.unpacked else fill_mpi_prefix
            mpi = store.ensure(plan.mpi.key, partial(fill, plan.mpi.mpi, archive))
            store.link(plan.mpi.mpi.name, plan.mpi.key)
            store.ensure(plan.key, partial(_make_toolchain, plan, store, mpi, archive, report))
            store.link(name, plan.key)
            report(name, "good")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _make_toolchain(
    plan: Plan, store: Store, mpi: Path, archive: AptClient, report: StateListener, place: Path
) -> None:
    toolchain, boost, log = plan.toolchain, plan.toolchain.boost, archive.log
    say = partial(report, toolchain.name)
    headers = boost_key(boost, "headers")
    say(f"Boost {boost.version}: headers")
    store.ensure(headers, partial(fill_boost_headers, boost, archive))
    (place / "include").symlink_to(Path("..") / headers / "include")
    (place / "mpi").symlink_to(Path("..") / mpi.name)
    if plan.from_debian:
        say(f"Boost {boost.version}: Debian's libraries")
        origin = take_debian_libraries(boost, archive, place)
        flags = ["as Debian built it"]
    else:
        say(f"Boost {boost.version}: sources")
        make_sources = partial(fill_boost_sources, boost, archive)
        sources = store.ensure(boost_key(boost, "sources"), make_sources)
        compile_libraries(
            plan, sources, place, log, lambda n, of: say(f"compiling Boost.MPI: {n} of {of} files")
        )
        supplier = "a tar file's" if boost_tar() else f"{distributor_name()}'s"
        origin, flags = f"built from {supplier} boost{boost.series} sources", list(FLAGS)
    say("self-test: two ranks")
    check_toolchain(plan, place, mpi, log)
    record = {
        "schema": 1,
        "name": toolchain.name,
        "mpi": {
            "family": toolchain.mpi.family,
            "version": plan.mpi.version,
            "origin": plan.mpi.origin,
        },
        "boost": {"version": boost.version, "origin": origin},
        "compiler": {"id": Path(CXX).name, "version": plan.compiler, "flags": flags},
        "key": plan.key,
    }
    (place / "toolchain.json").write_text(json.dumps(record, indent=2) + "\n")
