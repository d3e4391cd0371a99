"""What builds of toolchains share: the store of their results, commands, and packages.

A store has folders named by content under one root, made by one process at a time:

    <root>/by-key/<key>/     a unit; it counts only if it has `.complete`, which is written last
    <root>/<name>            link to a unit
    <root>/logs/<name>.log   output of the last build of <name>

Units are built in their final place, because libraries and wrappers hold its path; an interrupted
build leaves a folder without `.complete`, which the next holder of the lock removes.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.sites import schedulers
from roundtrip.sites.toolchains import spec
from roundtrip.sites.toolchains.spec import Boost, Toolchain

_COMPLETE_FILE = ".complete"


@dataclass(frozen=True)
class ToolchainStore:
    """The units below `root`: folders with built parts, and the links to them."""

    root: Path

    def unit_folder(self, key: str) -> Path:
        """Return the folder of the unit `key`, whether it exists or not."""
        return self.root / "by-key" / key

    def is_complete(self, key: str) -> bool:
        """Whether a unit has been built to its end."""
        return (self.unit_folder(key) / _COMPLETE_FILE).is_file()

    def find_linked_key(self, name: str) -> str | None:
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

    def ensure_unit(self, key: str, make: Callable[[Path], None]) -> Path:
        """Return the folder of the unit `key`; `make(folder)` fills it if it is not complete."""
        folder = self.unit_folder(key)
        if not self.is_complete(key):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                make(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            (folder / _COMPLETE_FILE).touch()
        return folder

    def create_log(self, name: str) -> Path:
        """Create an empty log file for a build of toolchain `name`; return its path."""
        path = self.root / "logs" / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        return path

    @contextmanager
    def lock(self, on_wait: Callable[[], None]) -> Iterator[None]:
        """Lock the store and remove incomplete units; call `on_wait()` first if it has to wait."""
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            if not files.try_lock(descriptor):
                on_wait()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            for folder in (self.root / "by-key").glob("*"):
                if not (folder / _COMPLETE_FILE).is_file():
                    shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(self.root / "work", ignore_errors=True)
            yield
        finally:
            os.close(descriptor)


def toolchain_states(toolchains: Iterable[Toolchain], store: ToolchainStore) -> dict[str, str]:
    """Return the state of each of `toolchains` in `store`, by name: ``good``, ``stale`` (built from
    other parts than now) or ``not built``."""
    state_by_name = {}
    for toolchain in toolchains:
        link_key = store.find_linked_key(toolchain.name)
        try:
            plan_key = spec.toolchain_plan(toolchain).key
        except UserError:
            plan_key = None
        state_by_name[toolchain.name] = (
            "not built" if link_key is None else "good" if link_key == plan_key else "stale"
        )
    return state_by_name


#: Prefixes of variables of an outer MPI or batch job, which would change the tested MPI.
_MPI_VARIABLE_PREFIXES = (
    *("OMPI_", "PMIX_", "PRTE_", "OPAL_", "PMI_", "MPICH_", "HYDRA_", "MPI_"),
    *filter(None, (item.variable_prefix for item in schedulers.SCHEDULERS)),
)


class BuildError(Exception):
    """A failed build step, named by `message`, with its `log` and the `output` of the command."""

    def __init__(self, message: str, log: Path, output: str = "") -> None:
        self.message = message
        self.log = log
        self.output = output
        super().__init__(message)

    def describe_failure(self, lines: int = 15) -> str:
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


def run_logged(
    step: str,
    command: Sequence[str | Path],
    log: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 1800,
) -> str:
    """Run `command`, append its output to `log`, return it; BuildError if it fails or is late."""
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


def apt_source_files() -> list[Path]:
    """Return the files in which apt's package sources are configured."""
    query = ["SINGLE", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
    output = subprocess.run(["apt-config", "shell", *query], capture_output=True, text=True).stdout
    path_by_variable = dict(re.findall(r"^(\w+)='([^']*)'$", output, re.MULTILINE))
    main_file = Path(path_by_variable.get("SINGLE", ""))
    parts = Path(path_by_variable.get("PARTS", ""))
    part_files = (
        sorted([*parts.glob("*.list"), *parts.glob("*.sources")]) if path_by_variable else []
    )
    return [file for file in (main_file, *part_files) if file.is_file()]


def add_deb_src(
    text: str, suffix: str, suites: Collection[str] = (), only_sources: bool = False
) -> str:
    """Return the apt sources `text` with `deb-src` for every `deb`, repeated for `suites`.

    Only the entries of this machine's suite are repeated.  CDs are left out, and with
    `only_sources` every `deb`.
    """
    entry_types = ("deb-src",) if only_sources else ("deb", "deb-src")
    codename = re.escape(platform.freedesktop_os_release().get("VERSION_CODENAME") or "-")
    if suffix == ".sources":
        types = re.compile(r"^Types:(?=.*\bdeb\b(?!-)).*$", re.MULTILINE | re.IGNORECASE)
        entries = re.split(
            r"\n(?:\s*\n)+", types.sub(f"Types: {' '.join(entry_types)}", text).strip()
        )
        suite = re.compile(rf"^(Suites:)(?:.*\s)?{codename}()(?:\s.*)?$", re.MULTILINE)
    else:
        source_pattern = r"((?:\[.*?\][ \t]+)?(?!cdrom:)\S+[ \t]+[^#\s].*)"
        pairs = re.findall(rf"^(deb|deb-src)[ \t]+{source_pattern}$", text, re.MULTILINE)
        lines = [
            f"{new_type} {source_text}"
            for entry_type, source_text in pairs
            for new_type in entry_types
            if new_type in (entry_type, "deb-src")
        ]
        entries = list(dict.fromkeys(lines))
        suite = re.compile(rf"^(deb\S*\s+(?:\[.*?\]\s+)?\S+)\s+{codename}(\s.*)$")
    suite_entries = [entry for entry in entries if suite.search(entry)]
    copies = [suite.sub(rf"\1 {name}\2", entry) for name in suites for entry in suite_entries]
    return "\n\n".join([*entries, *copies]) + "\n"


@dataclass(frozen=True)
class AptClient:
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
        sources = self._make_folder("sources.list.d")
        for number, file in enumerate(apt_source_files()):
            text = file.read_text(errors="replace")
            text = add_deb_src(text, file.suffix, self.suites, self.only_sources)
            (sources / f"{number}-{file.name}").write_text(text)
        settings = {
            "Dir::Etc::SourceList": "/dev/null",
            "Dir::Etc::SourceParts": sources,
            "Dir::State::Lists": self._make_folder("lists"),
            "Dir::Cache": self._make_folder("cache"),
            "Acquire::Retries": 3,
            "Acquire::Languages": "none",
        }
        if os.geteuid() == 0:
            settings["APT::Sandbox::User"] = "root"  # user _apt may not enter this folder
        options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        run_logged("updating package lists", ["apt-get", *options, "update"], self.log)
        return options

    def run_apt(self, step: str, folder: str, program: str, *arguments: str) -> tuple[str, Path]:
        """Run apt's `program` in `folder` of `work`; return its output and the folder.  BuildError
        if it fails."""
        work_folder = self._make_folder(folder)
        return run_logged(
            step, [program, *self._apt_options, *arguments], self.log, cwd=work_folder
        ), work_folder

    def _make_folder(self, name: str) -> Path:
        folder = self.work / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def download_packages(self, names: list[str]) -> list[Path]:
        """Download binary packages and return their .deb files, in the order of `names`."""
        step = f"downloading {' '.join(names)}"
        _, folder = self.run_apt(step, "deb", "apt-get", "download", *names)
        return [next(folder.glob(f"{name}_*.deb")) for name in names]

    def download_source(self, name: str) -> Path:
        """Download a source package and return its upstream tar file."""
        arguments = ["source", "--download-only", name]
        _, folder = self.run_apt(f"downloading the sources of {name}", "src", "apt-get", *arguments)
        return next(folder.glob(f"{name}_*.orig.tar.*"))

    def download_boost_tar(self, boost: Boost) -> Path:
        """Return the tar file of Boost: $ROUNDTRIP_BOOST, or that of the source package."""
        if tar_file := spec.user_boost_tar():
            return tar_file
        if spec.has_apt():
            return self.download_source(f"boost{boost.series}")
        if not shutil.which("dnf"):
            remedy = "set ROUNDTRIP_BOOST to its tar file"
            raise BuildError(f"Boost {boost.version} is not offered here: {remedy}", self.log)
        folder = self._make_folder("src")
        run_logged(
            "downloading boost", ["dnf", "download", "--source", "boost"], self.log, cwd=folder
        )
        package = next(folder.glob("boost-*.src.rpm"))
        run_logged(f"unpacking {package.name}", ["rpm2archive", package], self.log)
        run_logged(
            f"unpacking {package.name}", ["tar", "-xf", f"{package}.tgz"], self.log, cwd=folder
        )
        return next(folder.glob("boost_*.tar.*"))
