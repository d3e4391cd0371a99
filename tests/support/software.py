"""Software of a machine, as fixtures: a Spack environment, a linked program, Slurm, sources."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roundtrip.measure import scheduler
from roundtrip.sites import lock as locks
from roundtrip.sites import programming_environments, schedulers
from roundtrip.studies.osu.derived import BENCHMARKS
from support.programs import run_git, write_script

LOCK_FILE = Path(__file__).parents[1] / "sites" / "data" / "environment" / "spack.lock"
SLURM = schedulers.scheduler_of_key("slurm")
#: What a command of Slurm says while its controller is away.
CONTROLLER_LOST_MESSAGE = (
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
)
#: How ReFrame asks accounting for the state of a job.
SACCT_OPTIONS = ("-S", "2026-11-24", "-P", "-j", "7,8", "-o", "jobid,state,exitcode,end,nodelist")


@pytest.fixture
def spack_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the active environment; everything in it counts as installed."""
    folder = tmp_path / "environment"
    folder.mkdir()
    shutil.copyfile(LOCK_FILE, folder / "spack.lock")
    lock = locks.read_lock(folder / "spack.lock")
    for spec in lock.specs.values():
        if spec.external is None:
            place = Path(programming_environments.prefix_of_spec(spec, lock))
            place.mkdir(parents=True, exist_ok=True)
            if spec.name == programming_environments.OSU_PACKAGE:
                for benchmark in BENCHMARKS:
                    (place / f"osu_{benchmark}").touch()
    monkeypatch.setenv("SPACK_ENV", str(folder))
    return folder


def replace_osu_by_netpipe(environment: Path, toolchain: str) -> str:
    """Replace OSU by NetPIPE 3.7.2 in the lock file, for a toolchain; return NetPIPE's prefix."""
    lock = locks.read_lock(environment / "spack.lock")
    (item,) = (
        item for item in programming_environments.toolchains_in_lock(lock) if item.name == toolchain
    )
    suite = item.suites[programming_environments.OSU_PACKAGE].hash
    content = json.loads(lock.file.read_text())
    content["concrete_specs"][suite] |= {
        "name": programming_environments.NETPIPE_PACKAGE,
        "version": "3.7.2",
    }
    lock.file.write_text(json.dumps(content))
    lock = locks.read_lock(lock.file)
    prefix = programming_environments.prefix_of_spec(lock.specs[suite], lock)
    Path(prefix).mkdir(parents=True)
    return prefix


@pytest.fixture
def linked_program(tmp_path: Path) -> Path:
    """A program that links a library libmpi.so.40 by a path that it knows."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler: apt-get install gcc")
    library, program = tmp_path / "lib" / "libmpi.so.40.1", tmp_path / "program"
    library.parent.mkdir()
    (tmp_path / "mpi.c").write_text("int answer(void) { return 0; }\n")
    (tmp_path / "main.c").write_text("int answer(void);\nint main(void) { return answer(); }\n")
    options = ["-shared", "-Wl,-soname,libmpi.so.40", tmp_path / "mpi.c"]
    subprocess.run(["cc", *options, "-o", library], check=True)
    (library.parent / "libmpi.so.40").symlink_to(library.name)
    path = f"-Wl,--enable-new-dtags,-rpath,{library.parent}"
    subprocess.run(["cc", tmp_path / "main.c", library, path, "-o", program], check=True)
    return program


@pytest.fixture
def failing_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that puts a command into PATH which fails so many times, then answers.

    It returns the file with a line for each call of the command.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def make(
        name: str,
        failures: int,
        error: str = CONTROLLER_LOST_MESSAGE,
        answer: str = "",
        then: int = 0,
    ) -> Path:
        calls = tmp_path / f"{name}.calls"
        body = f"""\
            echo "$*" >> {calls}
            if [ $(wc -l < {calls}) -le {failures} ]; then echo "{error}" >&2; exit 1; fi
            [ -z "{answer}" ] || echo "{answer}"
            exit {then}
            """
        write_script(folder / name, "\n".join(line.strip() for line in body.splitlines()))
        return calls

    return make


def run_wrapper(
    name: str, *arguments: str, run_dir: Path, cwd: Path | None = None, wait_s: int = 60
) -> subprocess.CompletedProcess[str]:
    """Run a wrapper, with waits of `wait_s` seconds that are logged in `run_dir`."""
    patience = scheduler.SchedulerWait(SLURM, time.time() + wait_s, run_dir)
    variables = patience.patient_environment(os.environ)
    command = [name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=variables)


def file_sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def apt_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive of source package `demo` 1.0, which is all that apt knows of."""
    folder = tmp_path / "pool"
    folder.mkdir()
    archive = folder / "demo_1.0.orig.tar.xz"
    (tmp_path / "readme").write_text("demo\n")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(tmp_path / "readme", "demo-1.0/readme")
    packaging = folder / "demo_1.0-1.debian.tar.xz"
    packaging.write_bytes(b"no source")
    sums = "\n".join(
        f" {file_sha256(file)} {file.stat().st_size} {file.name}" for file in (archive, packaging)
    )
    common = "Binary: demo\nArchitecture: any\nVersion: 1.0-1\nMaintainer: Nobody <nobody@example>"
    description = folder / "demo_1.0-1.dsc"
    description.write_text(
        f"Format: 3.0 (quilt)\nSource: demo\n{common}\nChecksums-Sha256:\n{sums}\n"
    )
    sums = f" {file_sha256(description)} {description.stat().st_size} {description.name}\n{sums}"
    (folder / "Sources").write_text(
        f"Package: demo\nFormat: 3.0 (quilt)\n{common}\nDirectory: .\nChecksums-Sha256:\n{sums}\n"
    )
    (folder / "Packages").write_text("")
    etc = tmp_path / "etc"
    (etc / "parts").mkdir(parents=True)
    (etc / "parts" / "pool.list").write_text(f"# a pool\ndeb [trusted=yes] file:{folder} ./\n")
    (etc / "apt.conf").write_text(
        f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "{etc / "parts"}";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(etc / "apt.conf"))
    return archive


@pytest.fixture
def git_clone(tmp_path: Path) -> tuple[Path, str]:
    """A git repository with two commits, and the hash of the second."""
    folder = tmp_path / "clone"
    folder.mkdir()
    time = "2020-01-01T00:00:00Z"
    run_git(folder, "init", "--quiet")
    for text in ("one\n", "two\n"):
        (folder / "kept").write_text(text)
        (folder / "left out").write_text(text)
        run_git(folder, "add", "--all")
        commit = ("commit", "--quiet", "--message", text, f"--date={time}")
        run_git(folder, *commit, GIT_COMMITTER_DATE=time)
    return folder, run_git(folder, "rev-parse", "HEAD")
