"""A scratch copy of the checkout's commit, in which mutants live; the checkout is not touched."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.programs import CHECKOUT, run_git

#: ROUNDTRIP_MUTANTS names another folder, so that two runs can go on beside each other.
BUILD = Path(os.environ.get("ROUNDTRIP_MUTANTS") or CHECKOUT / "build" / "mutants").resolve()
COPY = BUILD / "copy"
TRACE = BUILD / "trace"
TOOLCHAINS = Path(
    os.environ.get("ROUNDTRIP_TOOLCHAINS") or Path.home() / ".cache" / "roundtrip" / "toolchains"
)
#: Statuses: an internal error, a wrong command line.
_OF_PYTEST_ITSELF = (3, 4)


def prepare() -> None:
    """Bring the copy to HEAD.  Its own .venv finds the copy's `roundtrip`, also in subprocesses."""
    if not COPY.is_dir():
        run_git(CHECKOUT, "worktree", "prune")
        run_git(CHECKOUT, "worktree", "add", "--quiet", "--detach", str(COPY))
    run_git(COPY, "checkout", "--quiet", "--force", "--detach", head())
    venv = COPY / ".venv"
    if not venv.is_dir():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        bin_, checkout_bin = venv / "bin", CHECKOUT / ".venv" / "bin"
        for script in checkout_bin.iterdir():
            start = f"#!{checkout_bin}/"
            if not (bin_ / script.name).exists() and script.read_bytes().startswith(start.encode()):
                text = script.read_text().replace(start, f"#!{bin_}/", 1)
                (bin_ / script.name).write_text(text)
                (bin_ / script.name).chmod(0o755)
    [packages] = venv.glob("lib/python*/site-packages")
    TRACE.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).with_name("probe.py"), TRACE / "roundtrip_probe.py")
    site_line = f"import site; site.addsitedir({str(CHECKOUT / packages.relative_to(COPY))!r})"
    (packages / "copy.pth").write_text(f"{COPY / 'src'}\n{site_line}\n{TRACE}\n")


def head() -> str:
    return run_git(CHECKOUT, "rev-parse", "HEAD")


def pytest(*arguments: str, seconds: float | None = None) -> tuple[int | None, str]:
    """Exit status (None: took longer than `seconds`) and output of the copy's pytest.

    In one process, without its cache.  SystemExit if pytest itself fails, unless the product does
    not load.
    """
    command = [str(COPY / ".venv" / "bin" / "pytest"), "-q", "-n0", "-p", "no:cacheprovider"]
    command += ["-p", "no:support.costs"]  # which fails tests that take long
    status, output = run([*command, *arguments], seconds)
    if status in _OF_PYTEST_ITSELF and not output.startswith("ImportError while loading"):
        raise SystemExit(output)
    return status, output


def run(command: list[str], seconds: float | None = None) -> tuple[int | None, str]:
    """Exit status (None: took longer than `seconds`) and output of a command in the copy."""
    shutil.rmtree(COPY / ".hypothesis", ignore_errors=True)  # examples of the mutant before
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command,
        cwd=COPY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return None, process.communicate()[0]
    return process.returncode, output
