"""The command line ``roundtrip``: a thin layer over the package, loaded command by command.

Exit status 2: an error that the user can fix: wrong arguments, bad input, or a refusal of the
operating system.  70: a bug of Roundtrip; the line names the file with the traceback.  130:
interrupted.  141: the reader of the output closed it.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup
from typer.models import CommandFunctionType

from roundtrip import __version__
from roundtrip.errors import UserError, user_error_from_os

#: The commands by purpose and name, in the order of use: module in this package, and help.
COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Before the first run": {
        "init": ("setup", "Lay out a campaign folder, if roundtrip is installed from a wheel."),
        "doctor": ("setup", "Find what disturbs measurements on this machine."),
        "toolchains": ("setup", "Build MPIs and Boosts for site local, or list them."),
        "site": ("setup", "Write a site's folder from facts of the cluster, or check one."),
        "study": ("setup", "List the studies, or begin a new one."),
    },
    "Measure": {
        "run": ("run", "Run a campaign, and publish its report."),
        "ab": ("compare", "Launch two toolchains in turn until each claim is decided."),
        "bisect": ("cause", "Find the first slow version between two."),
        "blame": ("cause", "Find which changed facts caused a step."),
    },
    "Read": {
        "history": ("history", "Say what changed over the nights of a site, and since when."),
        "nodes": ("nodes", "Name the sick and flaky nodes, switches and links."),
        "compare": ("compare", "Compare two reports, runs or nights, or two toolchains of one."),
        "calibrate": ("history", "Fit the thresholds of detection to the noise of a site."),
    },
    "Share": {
        "collect": ("share", "Turn a run into a bundle."),
        "report": ("share", "Publish the report of a bundle, or verify a published one."),
        "publish": ("share", "Copy reports into a tree for a static host."),
        "import": ("share", "Import ReFrame's logs and reports into the history."),
        "schema": ("share", "Print the JSON Schema of a command's JSON output."),
    },
}
_HELP_EXAMPLES = """\
  roundtrip run smoke                  measure this machine, and write the report
  roundtrip history                    what changed over the nights
  roundtrip ab openmpi41-boost181 mpich40-boost181
  roundtrip compare OLD NEW            two reports, side by side"""

USER_ERROR_STATUS, BUG_STATUS, INTERRUPTED_STATUS, BROKEN_PIPE_STATUS = 2, 70, 130, 141
#: The base of all errors of a command line; its own module is private.
_UsageError: Any = typer.BadParameter.__base__
#: Processes besides the two threads for each processor: the programs that a command runs.
_SPARE_PROCESSES = 8
#: Address space that the report of a small bundle reserves, bytes, and the addition for each
#: processor.  An eighth of it is used as memory.
_MIN_ADDRESS_SPACE_BYTES, _BYTES_PER_PROCESSOR = 1600 << 20, 16 << 20


class _Commands(TyperGroup):
    """Loads the module of a command when the command is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        module = {
            name: entry[0] for section in COMMANDS.values() for name, entry in section.items()
        }
        if cmd_name in module and cmd_name not in self.commands:
            importlib.import_module(f"{__name__}.{module[cmd_name]}")
            self.commands = typer.main.get_group(app).commands
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(f"Usage: {ctx.command_path} [OPTIONS] COMMAND [ARGS]...\n\n{self.help}\n")
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:<18}", summary) for name, (_, summary) in section.items()]
                )
        with formatter.section("Options"):
            records = (parameter.get_help_record(ctx) for parameter in self.params)
            formatter.write_dl([(record[0], record[1]) for record in records if record])
        formatter.write(f"\nExamples:\n{_HELP_EXAMPLES}\n\nroundtrip COMMAND --help says more.\n")


app = typer.Typer(
    cls=_Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would keep the line breaks of docstrings
    help=(
        "A reproducible MPI benchmark campaign.  Without a command: what is here, and the next "
        "command."
    ),
)


def command(
    *examples: str, name: str | None = None, group: typer.Typer = app
) -> Callable[[CommandFunctionType], CommandFunctionType]:
    """Register a command; its help ends with `examples`, each the words after ``roundtrip``."""
    lines = (f"  roundtrip {example}" for example in examples)
    return group.command(name, epilog="\b\nExamples:\n" + "\n".join(lines))


@app.callback(invoke_without_command=True)
def _global_options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    scheduler_commands: str = typer.Option("", "--scheduler-commands", hidden=True),
    slurm_commands: bool = typer.Option(False, "--slurm-commands", hidden=True),
) -> None:
    if version:
        typer.echo(f"roundtrip {__version__}")
        raise typer.Exit
    if scheduler_commands or slurm_commands:  # for the job script of a night
        from roundtrip.cli import common
        from roundtrip.sites import schedulers

        key = scheduler_commands
        if not key:  # the script of a night that an earlier version queued
            key = schedulers.SCHEDULERS[0].key
            common.print_warning(f"--slurm-commands is called --scheduler-commands {key} now")
        if not (wrappers := schedulers.scheduler_of_key(key).wrapper_folder):
            keys = " or ".join(item.key for item in schedulers.SCHEDULERS if item.wrapper_folder)
            raise UserError(f"--scheduler-commands {key}: right is {keys}")
        typer.echo(wrappers)
        raise typer.Exit
    if context.invoked_subcommand is None:
        from roundtrip.cli import common

        for line in common.status_lines():
            typer.echo(line)


def main() -> None:
    """Run the command that the arguments name; a UserError becomes one line and status 2."""
    gc.set_threshold(100_000)  # imports make no cycles worth a twentieth of the start-up

    def run() -> object:
        _require_valid_arguments(sys.argv[1:])
        _require_resources()
        return app(standalone_mode=False)

    sys.exit(run_for_exit_status(run))


def _require_valid_arguments(arguments: Sequence[str]) -> None:
    """UserError for an argument that is empty or not UTF-8."""
    for previous, argument in zip(("", *arguments), arguments, strict=False):
        option = previous if previous.startswith("--") else argument.partition("=")[0]
        place = f" after {option}" if option.startswith("--") else ""
        if not argument.strip() or (argument.startswith("--") and argument.endswith("=")):
            raise UserError(f"an argument is empty{place}: right is a value, or to leave it out")
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"an argument is not UTF-8{place}: {argument!a}") from None


def _require_resources() -> None:
    """UserError if the user's limits of threads or address space are too low for a command."""
    max_threads = os.environ.get("POLARS_MAX_THREADS", "1")
    if not re.fullmatch("0*[1-9][0-9]{0,4}", max_threads):
        raise UserError(
            f"POLARS_MAX_THREADS={max_threads!r}: right is a number from 1, or to unset it"
        )
    processors = len(os.sched_getaffinity(0))
    space = _MIN_ADDRESS_SPACE_BYTES + processors * _BYTES_PER_PROCESSOR
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < space:
        raise UserError(
            f"the address space is limited to {limit >> 10} kB: right is `ulimit -v unlimited`, "
            f"or {space >> 10} at least"
        )
    thread_count = 2 * processors + _SPARE_PROCESSES
    release = threading.Event()
    threads = [threading.Thread(target=release.wait, daemon=True) for _ in range(thread_count)]
    start_count = 0
    try:
        for thread in threads:
            thread.start()
            start_count += 1
    except RuntimeError:
        raise UserError(
            f"no room for {thread_count} threads, only for {start_count}: "
            "raise this user's limit of processes (`ulimit -u`, or the container's pids limit)"
        ) from None
    finally:
        release.set()
        for thread in threads[:start_count]:
            thread.join()


class SigtermInterrupt(KeyboardInterrupt):
    """SIGTERM arrived: stop measuring, and report."""


def raise_on_sigterm() -> None:
    """Install a handler that raises `SigtermInterrupt` in the main thread at the first SIGTERM."""

    def stop(number: int, frame: FrameType | None) -> None:
        ignore_sigterm()  # only once: the report must be completed
        raise SigtermInterrupt

    signal.signal(signal.SIGTERM, stop)


def ignore_sigterm() -> None:
    """Ignore SIGTERM from now on: measuring has ended, and the report is being written."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def run_for_exit_status(command: Callable[[], object]) -> int:
    """Run `command`, and print at most one line on standard error; return the exit status, 0 if
    `command` returns no number."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = command()
        sys.stdout.flush()
    except UserError as error:
        return _print_error(str(error), USER_ERROR_STATUS)
    except _UsageError as error:
        return _print_usage_error(error)
    except (KeyboardInterrupt, typer.Abort):
        return _print_error("interrupted", INTERRUPTED_STATUS)
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE_STATUS
    except OSError as error:
        _discard_output()
        return _print_error(str(user_error_from_os(error)), USER_ERROR_STATUS)
    except MemoryError:
        return _print_error("out of memory", USER_ERROR_STATUS)
    except SystemExit:
        raise
    except BaseException as error:
        return _print_error(_write_bug_report(error), BUG_STATUS)
    return status if isinstance(status, int) else 0


def _print_usage_error(error: Any) -> int:
    """Say which argument is wrong; without any argument, print the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return USER_ERROR_STATUS
    path = error.ctx.command_path if error.ctx else "roundtrip"
    command = path.partition(" ")[2]
    message = " ".join(error.format_message().split()).removesuffix(".")
    return _print_error(
        f"{command + ': ' if command else ''}{message}; see: {path} --help", USER_ERROR_STATUS
    )


def _print_error(message: str, status: int) -> int:
    """Print one line; control characters, which a file name may hold, are escaped."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    print(f"roundtrip: {line}", file=sys.stderr)
    return status


def _write_bug_report(error: BaseException) -> str:
    """Write the traceback of an unforeseen exception to a file; return the line about it."""
    trace = "".join(traceback.format_exception(error))
    text = f"roundtrip {__version__}, Python {sys.version}\n{sys.argv}\n{trace}"
    try:
        descriptor, place = tempfile.mkstemp(prefix="roundtrip-bug-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except OSError:
        print(text, file=sys.stderr)
        place = "the lines above"
    return f"this is a bug in roundtrip ({type(error).__name__}); what happened is in {place}"


def _open_missing_streams() -> None:
    """Open the null device for each standard stream that the caller has closed; else the next
    opened file would get the stream's number, and receive its output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_RDWR)  # the lowest: `number`, if nothing else took it
            os.set_inheritable(fd, fd == number)
            setattr(sys, name, os.fdopen(fd, "w" if number else "r", encoding="utf-8"))


def _discard_output() -> None:
    """Discard buffered output: writing it would fail again, with a second message."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
