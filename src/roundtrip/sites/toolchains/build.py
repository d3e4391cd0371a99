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
from roundtrip.sites.toolchains import spec
from roundtrip.sites.toolchains.spec import CC, CXX, Boost, Mpi, Toolchain, ToolchainPlan
from roundtrip.sites.toolchains.store import (
    AptClient,
    BuildError,
    ToolchainStore,
    clean_environment,
    run_logged,
)

#: Fedora and its derivatives have a folder for each MPI here.
FEDORA_LIBRARY_FOLDER = Path("/usr/lib64")
MPI_PROGRAMS = ("mpicc", "mpicxx", "mpirun", "mpiexec")


def write_wrapper(path: Path, command: Sequence[str | Path], variables: str = "") -> None:
    """Write a script that runs `command` with its own arguments, after an export of `variables`."""
    export = f"export {variables}\n" if variables else ""
    path.write_text(f'#!/bin/sh\n{export}exec {shlex.join(map(str, command))} "$@"\n')
    path.chmod(0o755)


def distribution_mpi_program(name: str, family: str) -> Path:
    """Return the path of a program of one of the distribution's MPIs."""
    program = FEDORA_LIBRARY_FOLDER / family / "bin" / name
    return program if program.exists() else Path(f"/usr/bin/{name}.{family}")


def fill_mpi_prefix(mpi: Mpi, apt_client: AptClient, prefix: Path) -> None:
    """Fill `prefix` with bin/ and, for a wheel, with the MPI itself; BuildError if pip fails.  No
    link in it leads to a system folder, so that no clean-up can reach one."""
    if mpi.wheel is None:
        programs = {name: distribution_mpi_program(name, mpi.family) for name in MPI_PROGRAMS}
    else:
        wheel = prefix / "wheel"
        requirement = prefix / "requirement.txt"
        requirement.write_text(mpi.pip_requirement or "")
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
        command += ["--no-deps", "--ignore-installed", "--no-warn-script-location"]
        options: list[str | Path] = ["--require-hashes", "--prefix", wheel, "-r", requirement]
        run_logged("installing the MPI wheel", [*command, *options], apt_client.log)
        programs = {name: wheel / "bin" / name for name in MPI_PROGRAMS}
    (prefix / "bin").mkdir()
    compilers = f"{mpi.family_table.compilers}_CC={CC} {mpi.family_table.compilers}_CXX={CXX}"
    for name, program in programs.items():
        write_wrapper(prefix / "bin" / name, [program], compilers)


_MPI_NAME_BY_SMPI_COMPILER = {"smpicc": "mpicc", "smpicxx": "mpicxx"}
_SMPIRUN_NAMES = ("smpirun", "mpirun", "mpiexec")
_TWO_HOSTS_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="pair" prefix="host" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
"""


def fill_simulator_prefix(mpi: Mpi, apt_client: AptClient, prefix: Path) -> None:
    """Fill `prefix` with usr/, as unpacked, and bin/, with SMPI's programs under their own names
    and under those of any MPI; BuildError if a package is not available."""
    for deb in apt_client.download_packages(list(mpi.unpacked)):
        run_logged(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, prefix], apt_client.log)
    # SMPI's mpi.h needs a header of Boost; a toolchain's own Boost takes precedence.
    headers = prefix / "later"
    headers.mkdir()
    (prefix / "usr" / "include" / "boost").rename(headers / "boost")
    programs = prefix / "usr" / "bin"
    for name in (*_MPI_NAME_BY_SMPI_COMPILER, _SMPIRUN_NAMES[0]):
        script = programs / name
        text = script.read_text()
        for folder in ("lib", "include"):
            text = text.replace(f"/usr/{folder}", f"{prefix}/usr/{folder}")
        text = text.replace("CC=/usr/bin/cc\n", f"CC={CC}\n")
        script.write_text(text.replace("CXX=/usr/bin/c++\n", f"CXX={CXX}\n"))
    for library in sorted((prefix / "usr" / "lib").glob("*/*.so*")):
        if not library.is_symlink():
            _set_rpath(library, apt_client.log)
    (prefix / "bin").mkdir()
    definitions = [f"-D{definition}" for definition in mpi.family_table.definitions]
    options = [f"-idirafter{headers}", *definitions]
    for smpi_name, mpi_name in _MPI_NAME_BY_SMPI_COMPILER.items():
        for name in (smpi_name, mpi_name):
            write_wrapper(prefix / "bin" / name, [programs / smpi_name, *options])
    for name in _SMPIRUN_NAMES:
        write_wrapper(prefix / "bin" / name, [programs / _SMPIRUN_NAMES[0]])


def write_two_host_platform(folder: Path) -> list[str | Path]:
    """Write a platform of two hosts into `folder`; return smpirun's options for a rank on each."""
    platform, hosts = folder / "pair.xml", folder / "hosts"
    platform.write_text(_TWO_HOSTS_PLATFORM)
    hosts.write_text("host0\nhost1\n")
    return ["-platform", platform, "-hostfile", hosts]


def _set_rpath(library: Path, log: Path) -> None:
    """Change `library` so that the loader looks for its dependencies beside it, too."""
    command: list[str | Path] = ["patchelf", "--set-rpath", "$ORIGIN", library]
    run_logged(f"setting the search path of {library.name}", command, log)


BOOST_LIBRARIES = ("serialization", "mpi")  # in the order of linking: mpi needs serialization
#: Flags that Boost's own build adds for each library.
_FLAGS_BY_BOOST_LIBRARY = {
    "serialization": (
        "-fvisibility=hidden",
        "-fvisibility-inlines-hidden",
        "-ftemplate-depth-255",
        "-DBOOST_SERIALIZATION_DYN_LINK=1",
    ),
    "mpi": ("-DBOOST_MPI_SOURCE=1", "-DBOOST_MPI_DYN_LINK=1", "-DBOOST_SERIALIZATION_DYN_LINK=1"),
}


def fill_boost_headers(boost: Boost, apt_client: AptClient, folder: Path) -> None:
    """Fill `folder` with include/boost."""
    if spec.user_boost_tar() or not spec.has_apt():
        tar, options = apt_client.download_boost_tar(boost), ["--strip-components=1"]
        _unpack(tar, ["*/boost"], folder / "include", apt_client.log, options)
        return
    name = f"libboost{boost.series}-dev"
    (deb,) = apt_client.download_packages([name])
    run_logged(f"unpacking {name}", ["dpkg-deb", "-x", deb, folder / "deb"], apt_client.log)
    (folder / "deb" / "usr" / "include").rename(folder / "include")
    shutil.rmtree(folder / "deb")


def fill_boost_sources(boost: Boost, apt_client: AptClient, folder: Path) -> None:
    """Fill `folder` with the files of both libraries: mpi/ and serialization/."""
    patterns = [f"*/libs/{name}/src/*.[ci]pp" for name in BOOST_LIBRARIES]
    temporary = folder / "unpacked"
    _unpack(apt_client.download_boost_tar(boost), patterns, temporary, apt_client.log)
    for name in BOOST_LIBRARIES:
        next(temporary.glob(f"*/libs/{name}/src")).rename(folder / name)
    shutil.rmtree(temporary)


def _unpack(
    tar: Path, patterns: list[str], folder: Path, log: Path, extra_options: Sequence[str] = ()
) -> None:
    folder.mkdir()
    options = ["--no-wildcards-match-slash", "--wildcards", *extra_options, *patterns]
    run_logged(f"unpacking {tar.name}", ["tar", "-xf", tar, "-C", folder, *options], log)


def fill_debian_libraries(boost: Boost, apt_client: AptClient, prefix: Path) -> str:
    """Fill `prefix`/lib from Debian's packages for Open MPI; return their origin in words."""
    names = [f"libboost-{name}{boost.version}" for name in BOOST_LIBRARIES]
    for deb in (debs := apt_client.download_packages(names)):
        run_logged(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, prefix / "deb"], apt_client.log)
    (prefix / "lib").mkdir()
    for name in BOOST_LIBRARIES:
        file = f"libboost_{name}.so.{boost.version}"
        next((prefix / "deb").glob(f"usr/lib/*/{file}")).rename(prefix / "lib" / file)
        _set_rpath(prefix / "lib" / file, apt_client.log)
        (prefix / "lib" / f"libboost_{name}.so").symlink_to(file)
    shutil.rmtree(prefix / "deb")
    return f"{distributor_name()} {names[1]} {debs[1].name.split('_')[1]}"


def compile_boost_libraries(
    plan: ToolchainPlan,
    sources: Path,
    prefix: Path,
    log: Path,
    progress: Callable[[int, int], None],
) -> None:
    """Fill `prefix`/lib by compiling `sources` with the MPI in `prefix`/mpi; BuildError if a file
    does not compile.  `progress(done, of)` is called after each file."""
    compiler = prefix / "mpi" / "bin" / "mpicxx"
    objects = prefix / "objects"
    jobs: dict[Path, list[str | Path]] = {}
    for library in BOOST_LIBRARIES:
        for source in sorted((sources / library).glob("*.cpp")):
            if "_w" in source.stem:  # wide characters: another library, not needed here
                continue
            output = objects / library / f"{source.stem}.o"
            output.parent.mkdir(parents=True, exist_ok=True)
            flags = [*spec.BOOST_COMPILE_FLAGS, *_FLAGS_BY_BOOST_LIBRARY[library], "-w"]
            flags += ["-isystem", str(prefix / "include")]
            jobs[output] = [compiler, *flags, "-c", source, "-o", output]
    # The slowest file, a grammar, must not come last.
    order = sorted(jobs, key=lambda output: "grammar" not in output.stem)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(run_logged, f"compiling {o.stem}.cpp", jobs[o], log) for o in order]
        try:
            for count, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(count, len(futures))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    (prefix / "lib").mkdir()
    for library in BOOST_LIBRARIES:
        files = sorted((objects / library).glob("*.o"))
        if plan.toolchain.mpi.family_table.simulator:
            file = f"libboost_{library}.a"
            run_logged(f"collecting {file}", ["ar", "rcs", prefix / "lib" / file, *files], log)
        else:
            _link_shared(plan.toolchain.boost, library, files, prefix, log)
    shutil.rmtree(objects)


def _link_shared(boost: Boost, library: str, files: list[Path], prefix: Path, log: Path) -> None:
    file = f"libboost_{library}.so.{boost.version}"
    lib = prefix / "lib"
    compiler = prefix / "mpi" / "bin" / "mpicxx"
    command: list[str | Path] = [compiler, "-shared", "-pthread", "-o", lib / file, *files]
    command += [f"-Wl,-soname,{file}", "-Wl,-rpath,$ORIGIN", "-Wl,-z,relro", f"-L{lib}"]
    if library == "mpi":
        command.append("-lboost_serialization")
    run_logged(f"linking {file}", command, log)
    (lib / f"libboost_{library}.so").symlink_to(file)


#: Called with the name of a toolchain and its current step, finally ``good``.
BuildStepListener = Callable[[str, str], None]


def selftest_faults(plan: ToolchainPlan, output: str) -> list[str]:
    """Return a line for each fault in the self-test's `output`; [] without any."""
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
    prefix = plan.toolchain.mpi.family_table.answers
    if not spec.is_library_version(library, prefix, plan.mpi.version, exactly=True):
        faults.append(f"the MPI library is {library!r}, not {plan.mpi.version}")
    return faults


def check_toolchain(plan: ToolchainPlan, prefix: Path, mpi: Path, log: Path) -> None:
    """Test the toolchain in `prefix` with the MPI in `mpi`; BuildError if it does not work."""
    program, lib = prefix / "selftest", prefix / "lib"
    command = [str(mpi / "bin" / "mpicxx"), "-std=c++20", "-isystem", str(prefix / "include")]
    source = Path(__file__).with_name("selftest.cpp")
    command += [str(source), "-o", str(program), f"-L{lib}", f"-Wl,-rpath,{lib}"]
    run_logged("compiling the self-test", [*command, "-lboost_mpi", "-lboost_serialization"], log)
    launch: list[str | Path] = [mpi / "bin" / "mpirun", "-n", "2"]
    env = clean_environment() | {  # two ranks run anywhere, also as root and on one core
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if os.geteuid() == 0:
        env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        if plan.toolchain.mpi.family_table.simulator:
            launch += write_two_host_platform(Path(folder))
        output = run_logged("running the self-test", [*launch, program], log, env=env, timeout=120)
    program.unlink()
    if faults := selftest_faults(plan, output):
        raise BuildError("self-test: " + "; ".join(faults), log, output)


def pending_plans(toolchains: Sequence[Toolchain], store: ToolchainStore) -> list[ToolchainPlan]:
    """Return the plans of the toolchains that are missing or stale."""
    plans = [spec.toolchain_plan(toolchain) for toolchain in toolchains]
    return [p for p in plans if store.find_linked_key(p.toolchain.name) != p.key]


def build_plans(
    plans: Sequence[ToolchainPlan], store: ToolchainStore, report: BuildStepListener
) -> None:
    """Build each plan in turn; BuildError at the first failure.  The caller holds the store."""
    work = store.root / "work"
    try:
        for plan in plans:
            name = plan.toolchain.name
            log = store.create_log(name)
            report(name, plan.mpi.origin)
            apt_client = AptClient(work, log)
            fill = fill_simulator_prefix if plan.mpi.mpi.unpacked else fill_mpi_prefix
            mpi = store.ensure_unit(plan.mpi.key, partial(fill, plan.mpi.mpi, apt_client))
            store.link(plan.mpi.mpi.name, plan.mpi.key)
            store.ensure_unit(
                plan.key, partial(_make_toolchain, plan, store, mpi, apt_client, report)
            )
            store.link(name, plan.key)
            report(name, "good")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _make_toolchain(
    plan: ToolchainPlan,
    store: ToolchainStore,
    mpi: Path,
    apt_client: AptClient,
    report: BuildStepListener,
    prefix: Path,
) -> None:
    toolchain, boost, log = plan.toolchain, plan.toolchain.boost, apt_client.log
    say = partial(report, toolchain.name)
    headers = spec.boost_part_key(boost, "headers")
    say(f"Boost {boost.version}: headers")
    store.ensure_unit(headers, partial(fill_boost_headers, boost, apt_client))
    (prefix / "include").symlink_to(Path("..") / headers / "include")
    (prefix / "mpi").symlink_to(Path("..") / mpi.name)
    if plan.uses_debian_boost:
        say(f"Boost {boost.version}: Debian's libraries")
        origin = fill_debian_libraries(boost, apt_client, prefix)
        flags = ["as Debian built it"]
    else:
        say(f"Boost {boost.version}: sources")
        make_sources = partial(fill_boost_sources, boost, apt_client)
        sources = store.ensure_unit(spec.boost_part_key(boost, "sources"), make_sources)
        compile_boost_libraries(
            plan, sources, prefix, log, lambda n, of: say(f"compiling Boost.MPI: {n} of {of} files")
        )
        supplier = "a tar file's" if spec.user_boost_tar() else f"{distributor_name()}'s"
        origin = f"built from {supplier} boost{boost.series} sources"
        flags = list(spec.BOOST_COMPILE_FLAGS)
    say("self-test: two ranks")
    check_toolchain(plan, prefix, mpi, log)
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
    (prefix / "toolchain.json").write_text(json.dumps(record, indent=2) + "\n")
