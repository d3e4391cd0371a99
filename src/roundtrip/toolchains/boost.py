"""Boost for one MPI: headers, libboost_mpi and libboost_serialization in a prefix of their own.

Debian builds Boost.MPI only for its Open MPI.  For other MPIs the two libraries are compiled from
Debian's source package, without Debian's patches, which change only the Python bindings.  Those of
a simulator are archives: it makes a copy of a program for each rank, and not of its libraries.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from roundtrip.toolchains.debian import Archive
from roundtrip.toolchains.plan import Plan
from roundtrip.toolchains.process import run
from roundtrip.toolchains.spec import Boost

LIBRARIES = ("serialization", "mpi")  # in the order of linking: mpi needs serialization
#: What Boost's own build adds for each library.
_FLAGS = {
    "serialization": (
        "-fvisibility=hidden",
        "-fvisibility-inlines-hidden",
        "-ftemplate-depth-255",
        "-DBOOST_SERIALIZATION_DYN_LINK=1",
    ),
    "mpi": ("-DBOOST_MPI_SOURCE=1", "-DBOOST_MPI_DYN_LINK=1", "-DBOOST_SERIALIZATION_DYN_LINK=1"),
}


def make_headers(boost: Boost, archive: Archive, place: Path) -> None:
    """Fill `place` with include/boost."""
    name = f"libboost{boost.series}-dev"
    (deb,) = archive.packages([name])
    run(f"unpacking {name}", ["dpkg-deb", "-x", deb, place / "deb"], archive.log)
    (place / "deb" / "usr" / "include").rename(place / "include")
    shutil.rmtree(place / "deb")


def make_sources(boost: Boost, archive: Archive, place: Path) -> None:
    """Fill `place` with the files of both libraries: mpi/ and serialization/."""
    tar = archive.source(f"boost{boost.series}")
    inside = [f"*/libs/{name}/src/*.[ci]pp" for name in LIBRARIES]
    unpacked = place / "unpacked"
    unpacked.mkdir()
    command = ["tar", "-xf", str(tar), "-C", str(unpacked)]
    command += ["--no-wildcards-match-slash", "--wildcards", *inside]
    run(f"unpacking {tar.name}", command, archive.log)
    for name in LIBRARIES:
        next(unpacked.glob(f"*/libs/{name}/src")).rename(place / name)
    shutil.rmtree(unpacked)


def take_debian_libraries(boost: Boost, archive: Archive, place: Path) -> str:
    """Fill `place`/lib from Debian's packages for Open MPI; return their origin in words."""
    names = [f"libboost-{name}{boost.version}" for name in LIBRARIES]
    for deb in (debs := archive.packages(names)):
        run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, place / "deb"], archive.log)
    (place / "lib").mkdir()
    for name in LIBRARIES:
        file = f"libboost_{name}.so.{boost.version}"
        next((place / "deb").glob(f"usr/lib/*/{file}")).rename(place / "lib" / file)
        # Debian's libraries look for each other in the system's folders only.
        command = ["patchelf", "--set-rpath", "$ORIGIN", str(place / "lib" / file)]
        run(f"setting the search path of {file}", command, archive.log)
        (place / "lib" / f"libboost_{name}.so").symlink_to(file)
    shutil.rmtree(place / "deb")
    return f"Debian {names[1]} {debs[1].name.split('_')[1]}"


def compile_libraries(
    plan: Plan,
    sources: Path,
    place: Path,
    log: Path,
    progress: Callable[[int, int], None],
) -> None:
    """Fill `place`/lib by compiling `sources` with the MPI in `place`/mpi.

    `progress(done, of)` is called after each file.  BuildError if a file does not compile.
    """
    compiler = place / "mpi" / "bin" / "mpicxx"
    objects = place / "objects"
    jobs: dict[Path, list[str | Path]] = {}
    for library in LIBRARIES:
        for source in sorted((sources / library).glob("*.cpp")):
            if "_w" in source.stem:  # wide characters: another library, not needed here
                continue
            output = objects / library / f"{source.stem}.o"
            output.parent.mkdir(parents=True, exist_ok=True)
            flags = [*plan.flags, *_FLAGS[library], "-w", "-isystem", str(place / "include")]
            jobs[output] = [compiler, *flags, "-c", source, "-o", output]
    # The slowest file, a grammar, must not come last.
    order = sorted(jobs, key=lambda output: "grammar" not in output.stem)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(run, f"compiling {o.stem}.cpp", jobs[o], log) for o in order]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(done, len(futures))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    (place / "lib").mkdir()
    for library in LIBRARIES:
        if plan.toolchain.mpi.of_family.simulator:
            _archive(library, place, log)
        else:
            _link(plan.toolchain.boost, library, compiler, place, log)
    shutil.rmtree(objects)


def _archive(library: str, place: Path, log: Path) -> None:
    file = f"libboost_{library}.a"
    objects = sorted((place / "objects" / library).glob("*.o"))
    run(f"collecting {file}", ["ar", "rcs", place / "lib" / file, *objects], log)


def _link(boost: Boost, library: str, compiler: Path, place: Path, log: Path) -> None:
    file = f"libboost_{library}.so.{boost.version}"
    objects = [str(path) for path in sorted((place / "objects" / library).glob("*.o"))]
    lib = place / "lib"
    command = [str(compiler), "-shared", "-pthread", "-o", str(lib / file), *objects]
    command += [f"-Wl,-soname,{file}", "-Wl,-rpath,$ORIGIN", "-Wl,-z,relro", f"-L{lib}"]
    if library == "mpi":
        command.append("-lboost_serialization")
    run(f"linking {file}", command, log)
    (place / "lib" / f"libboost_{library}.so").symlink_to(file)
