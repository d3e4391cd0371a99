"""The parts of each toolchain on this machine, its content key, and the store of builds.

A store has folders named by content under one root, made by one process at a time:

    <root>/by-key/<key>/     a unit; it counts only if it has `.complete`, which is written last
    <root>/<name>            link to a unit
    <root>/logs/<name>.log   output of the last build of <name>

Units are built in their final place, because libraries and wrappers hold its path; an interrupted
build leaves a folder without `.complete`, which the next holder of the lock removes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from roundtrip import files
from roundtrip.errors import UserError, refusal
from roundtrip.sites import programs, schedulers
from roundtrip.sites.machine import distributor, installed_packages, upstream
from roundtrip.sites.toolchains.spec import Boost, Mpi, Toolchain

_COMPLETE_FILE = ".complete"


def content_key(inputs: Mapping[str, object]) -> str:
    """16 hex digits of the SHA-256 of `inputs` as canonical JSON."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Store:
    """The units below `root`."""

    root: Path

    def place(self, key: str) -> Path:
        """Folder of a unit, whether it is there or not."""
        return self.root / "by-key" / key

    def is_complete(self, key: str) -> bool:
        """Whether a unit has been built to its end."""
        return (self.place(key) / _COMPLETE_FILE).is_file()

    def symlink_key(self, name: str) -> str | None:
        """Key of the complete unit that `name` links to; None if there is none."""
        link = self.root / name
        key = link.readlink().name if link.is_symlink() else None
        return key if key and self.is_complete(key) else None

    def link(self, name: str, key: str) -> None:
        """Link `name` to the unit `key`; readers see the old link or the new one."""
        temporary = self.root / f".{name}.new"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(Path("by-key") / key)
        temporary.replace(self.root / name)

    def ensure(self, key: str, make: Callable[[Path], None]) -> Path:
        """The folder of the unit `key`; `make(folder)` fills it unless it is complete.

        The caller holds the store.
        """
        place = self.place(key)
        if not self.is_complete(key):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            try:
                make(place)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            (place / _COMPLETE_FILE).touch()
        return place

    def log(self, name: str) -> Path:
        """An empty log file for a build of `name`."""
        path = self.root / "logs" / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        return path

    @contextmanager
    def hold(self, on_wait: Callable[[], None]) -> Iterator[None]:
        """Hold the store and remove incomplete units; call `on_wait()` before it has to wait."""
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            if not files.try_lock(descriptor):
                on_wait()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._remove_leftovers()
            yield
        finally:
            os.close(descriptor)

    def _remove_leftovers(self) -> None:
        for place in (self.root / "by-key").glob("*"):
            if not (place / _COMPLETE_FILE).is_file():
                shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(self.root / "work", ignore_errors=True)


#: Prefixes of variables of an outer MPI or batch job, which would change the tested MPI.
_MPI_VARIABLE_PREFIXES = (
    *("OMPI_", "PMIX_", "PRTE_", "OPAL_", "PMI_", "MPICH_", "HYDRA_", "MPI_"),
    *filter(None, (item.variable_prefix for item in schedulers.ALL)),
)


class BuildError(Exception):
    """A failed build step, named by `message`, with its `log` and the `output` of the command."""

    def __init__(self, message: str, log: Path, output: str = "") -> None:
        self.message = message
        self.log = log
        self.output = output
        super().__init__(message)

    def explain(self, lines: int = 15) -> str:
        """Return the last `lines` of the output, then a line with the failed step and the log."""
        tail = self.output.splitlines()[-lines:]
        return "\n".join([*tail, f"{self.message}; whole log: {self.log}"])


def clean_environment() -> dict[str, str]:
    """The environment of this process without variables that change an MPI or a compiler."""
    compiler = {"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH"}
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_MPI_VARIABLE_PREFIXES)
        and name not in compiler | {"LD_LIBRARY_PATH"}
    }


def run(
    step: str,
    command: Sequence[str | Path],
    log: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 1800,
) -> str:
    """Run `command`, append its output to `log` and return it.

    BuildError if it fails or takes longer than `timeout` seconds.
    """
    line = shlex.join(str(part) for part in command)
    try:
        result = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(env) if env is not None else clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
        )
        output, failure = result.stdout, result.returncode and f"status {result.returncode}"
    except subprocess.TimeoutExpired:
        output, failure = "", f"no end after {timeout:.0f} s"
    except OSError as error:
        output, failure = "", str(error)
    with log.open("a") as out:
        out.write(f"$ {line}\n{output}" + (f"failed: {failure}\n" if failure else ""))
    if failure:
        raise BuildError(f"{step} failed ({failure})", log, output)
    return output


#: Increase it when the build steps change in a way that no other input of the keys shows.
RECIPE = 1
CC, CXX = "/usr/bin/gcc", "/usr/bin/g++"
#: Debian's own flags for Boost, so that Debian's Boost.MPI and ours differ only in the MPI.
FLAGS = (
    "-std=gnu++17",
    "-O2",
    "-g0",
    "-fstack-protector-strong",
    "-D_FORTIFY_SOURCE=2",
    "-DNDEBUG",
    "-fPIC",
    "-pthread",
)
#: The user's variable with the tar file of Boost.
BOOST_VARIABLE = "ROUNDTRIP_BOOST"
SPACK_ROUTE = "or build with Spack: spack env activate . && spack install"


@dataclass(frozen=True)
class ResolvedMpi:
    """An MPI as it is on this machine: `origin` in words."""

    mpi: Mpi
    version: str
    origin: str
    key: str


@dataclass(frozen=True)
class Plan:
    """A toolchain as it would be built here now."""

    toolchain: Toolchain
    mpi: ResolvedMpi
    compiler: str
    key: str

    @property
    def from_debian(self) -> bool:
        """Whether Debian has a Boost.MPI that is linked with this MPI."""
        return self.toolchain.mpi.boost == "debian" and has_apt()


def has_apt() -> bool:
    """Whether Boost comes from packages of Debian or Ubuntu."""
    return shutil.which("apt-get") is not None


@cache
def compiler_version() -> str:
    """Version of the C++ compiler, e.g. 12.2.0; UserError without one."""
    try:
        run = subprocess.run([CXX, "-dumpfullversion"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UserError(f"no compiler {CXX}: run `make setup`, {SPACK_ROUTE}") from None
    return run.stdout.strip()


def resolve_mpi(mpi: Mpi) -> ResolvedMpi:
    """Plan of one MPI; UserError if its package is missing here, or of another series."""
    if mpi.packages:
        versions = installed_packages(mpi.packages) or {}
        package = next((name for name in mpi.packages if name in versions), None)
        if package is None:
            names = " or ".join(mpi.packages)
            raise UserError(f"{mpi.name} needs package {names}: run `make setup`, {SPACK_ROUTE}")
        release = versions[package]
        version, origin = upstream(release), f"{distributor()} {package} {release}"
    elif mpi.unpacked:
        # Only the download shows the version of Debian's package; all are of this series.
        version, origin = mpi.series, f"Debian {mpi.unpacked[0]} {mpi.series}, unpacked"
    else:
        wheel, version = (mpi.wheel or "").split("==")
        origin = f"PyPI {wheel} {version}"
    if not f"{version}.".startswith(f"{mpi.series}."):
        raise UserError(f"{mpi.name} needs version {mpi.series}, not {origin}; {SPACK_ROUTE}")
    inputs: dict[str, object] = {"recipe": RECIPE, "unit": mpi.name, "origin": origin}
    inputs |= {"pin": mpi.pin, "cxx": CXX}
    if mpi.unpacked:
        inputs |= {"unpacked": mpi.unpacked, "definitions": mpi.kind.definitions}
    return ResolvedMpi(mpi, version, origin, content_key(inputs))


def toolchain_plan(toolchain: Toolchain) -> Plan:
    """Plan of one toolchain; UserError if this machine cannot have it."""
    mpi = resolve_mpi(toolchain.mpi)
    compiler = compiler_version()
    inputs = {
        "recipe": RECIPE,
        "unit": toolchain.name,
        "mpi": mpi.key,
        "boost": toolchain.boost.version,
        "compiler": [CXX, compiler],
        "flags": FLAGS,
        **_tar_inputs(),
    }
    return Plan(toolchain, mpi, compiler, content_key(inputs))


def boost_key(boost: Boost, part: str) -> str:
    """Return the key of a part of Boost that toolchains share; `part` is headers or sources.

    UserError if the user's tar file of Boost cannot be read.
    """
    return content_key({"recipe": RECIPE, "unit": part, "boost": boost.version, **_tar_inputs()})


def boost_tar() -> Path | None:
    """The tar file that the user names as Boost, if any."""
    name = os.environ.get(BOOST_VARIABLE)
    return Path(name) if name else None


def _tar_inputs() -> dict[str, object]:
    """Return the digest of the user's tar file of Boost as an input of keys; {} without one.

    UserError if it cannot be read.
    """
    tar_file = boost_tar()
    if tar_file is None:
        return {}
    try:
        with tar_file.open("rb"):  # for the reason, where `digest` gives none
            digest = programs.digest(tar_file)
    except OSError as error:
        raise refusal(error, tar_file) from None
    if digest is None:
        raise UserError("cannot be read to its end", tar_file)
    return {"tar": digest}


def states(toolchains: Iterable[Toolchain], store: Store) -> dict[str, str]:
    """Return ``good``, ``stale`` (built from other parts than now) or ``not built``, by name."""
    state_by_name = {}
    for toolchain in toolchains:
        link_key = store.symlink_key(toolchain.name)
        try:
            plan_key = toolchain_plan(toolchain).key
        except UserError:
            plan_key = None
        state_by_name[toolchain.name] = (
            "not built" if link_key is None else "good" if link_key == plan_key else "stale"
        )
    return state_by_name
