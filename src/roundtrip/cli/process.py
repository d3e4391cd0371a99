"""The start and the end of a command: required resources, SIGTERM, and the exit status.

2: an error that the user can fix: wrong arguments, bad input, or a refusal of the operating system.
70: a bug of Roundtrip; the line names the file with the traceback.  130: interrupted.  141: the
reader of the output closed it."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import typer

from roundtrip import __version__
from roundtrip.errors import UserError, user_error_from_os

#: Processes besides the two threads for each processor: the programs that a command runs.
_SPARE_PROCESSES = 8
#: Address space that the report of a small bundle reserves, bytes, and the addition for each
#: processor.  An eighth of it is used as memory.
_MIN_ADDRESS_SPACE_BYTES, _BYTES_PER_PROCESSOR = 1600 << 20, 16 << 20


def require_resources() -> None:
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


USER_ERROR_STATUS, BUG_STATUS, INTERRUPTED_STATUS, BROKEN_PIPE_STATUS = 2, 70, 130, 141
#: The base of all errors of a command line; its own module is private.
_UsageError: Any = typer.BadParameter.__base__


def run_for_exit_status(command: Callable[[], object]) -> int:
    """Run `command` and return the exit status; print at most one line on standard error.

    `command` returns its own status, or any other object for success.
    """
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
    """Open the null device for each standard stream that the caller has closed.

    Otherwise the next opened file would get the stream's number, and receive its output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_RDWR)  # the lowest: `number`, if nothing else took it
            os.set_inheritable(fd, fd == number)
            setattr(sys, name, os.fdopen(fd, "w" if number else "r", encoding="utf-8"))


def _discard_output() -> None:
    """Discard buffered output: writing it would fail again, with a second message."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
