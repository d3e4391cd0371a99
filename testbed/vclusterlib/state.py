"""The state directory of a cluster: its lock, the process of its head node, and requests to it.

``$XDG_STATE_HOME/roundtrip/vcluster/<name>/``, mode 0700:
  lock         held by ``up`` and ``down``           cluster.json  the Spec, and the shared folders
  head.json    first process of the head node       etc/ log/ spool/ mysql/
  run/         sockets and pids of this boot; gone after ``down``
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vclusterlib import UserError, VclusterError
from vclusterlib.spec import Spec

#: The stream socket of the head, in ``run/``; head, nodes and host all reach it.
SOCKET = "control.sock"
#: Environment variable inside the cluster: its state directory.
STATE_VARIABLE = "ROUNDTRIP_VCLUSTER_STATE"


def clusters_folder() -> Path:
    """The folder of all clusters of this user."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home).absolute() / "roundtrip" / "vcluster"


def write_atomically(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file completely or not at all; its mode is set before its content."""
    temporary_path = path.with_name(f".{path.name}.{os.getpid()}")
    temporary_path.unlink(missing_ok=True)
    descriptor = os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary_path.replace(path)


def process_start_ticks(pid: int | str) -> str:
    """Start time of a process in clock ticks since boot, by which it differs from a later one with
    its pid; "" if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


#: Maximum bytes of a unix socket's path, without the final zero.
MAX_SOCKET_PATH_BYTES = 107


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class State:
    """The state directory of the cluster `name`; nothing is created before `prepare_boot`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.etc = path / "etc"
        self.log = path / "log"
        self.spool = path / "spool"
        self.run = path / "run"
        self.mysql = path / "mysql"

    @staticmethod
    def from_name(name: str | None) -> State:
        """The cluster `name`; by default the cluster that we run in, else ``default``."""
        path = os.environ.get(STATE_VARIABLE)
        if name is None and path:
            return State(Path(path))
        name = name or "default"
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name):
            raise UserError(f"--name {name!r}: up to 32 of a-z 0-9 _ -, first a letter or digit")
        return State(clusters_folder() / name)

    @property
    def is_inside(self) -> bool:
        """Whether this process runs in this cluster."""
        return os.environ.get(STATE_VARIABLE) == str(self.path)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the state directory, after waiting for another command that holds the lock."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = (self.path / "lock").open("a")
        except OSError as error:
            raise UserError(f"state directory {self.path}: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                message = f"vcluster: another command holds {self.path}: waiting for it"
                print(message, file=sys.stderr, flush=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def require_short_path(self) -> None:
        """UserError for a path too long for Slurm's sockets: Slurm would hold jobs silently."""
        longest_path = self.spool / "head" / f"head_999999.{2**32 - 1}"
        if (excess := len(os.fsencode(longest_path)) - MAX_SOCKET_PATH_BYTES) > 0:
            raise UserError(
                f"state directory {self.path}: {excess} characters too long for Slurm's sockets: "
                "set XDG_STATE_HOME to a shorter one, or give a shorter --name"
            )

    def prepare_boot(self, spec: Spec) -> None:
        """Make the folders and record of a new boot; remove logs and run files of the last one."""
        self.path.chmod(0o700)
        for folder in (self.run, self.log, self.spool):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.run / "nodes", self.log, self.spool / "ctld", self.etc):
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        write_atomically(self.path / "cluster.json", json.dumps(spec.to_json(), indent=1) + "\n")

    def spec(self) -> Spec:
        return Spec.from_json(json.loads((self.path / "cluster.json").read_text()))

    def record_head(self, **more: Any) -> None:
        """Write head.json, in the head node's first process, which still sees the outer /proc."""
        pid = Path("/proc/self").readlink().name
        record = {"pid": int(pid), "start": process_start_ticks(pid), "boot": boot_id(), **more}
        write_atomically(self.path / "head.json", json.dumps(record) + "\n")

    def head_pid(self) -> int | None:
        """Pid of the head's first process, None if it has ended; call from outside."""
        try:
            record = json.loads((self.path / "head.json").read_text())
        except (OSError, ValueError):
            return None
        is_alive = (
            record["boot"] == boot_id() and process_start_ticks(record["pid"]) == record["start"]
        )
        return int(record["pid"]) if is_alive else None

    def pid_file(self, node: str) -> Path:
        """The file with the pid of a node's first process, as the head sees it."""
        return self.run / "nodes" / f"{node}.pid"

    def remove_boot_files(self) -> None:
        """Remove sockets, pids, spool and head.json, which belong to one boot only."""
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.rmtree(self.spool, ignore_errors=True)
        (self.path / "head.json").unlink(missing_ok=True)

    def send_request(self, request: dict[str, Any], timeout_s: float = 60.0) -> dict[str, Any]:
        """The head's answer to `request`; VclusterError or UserError if the head refuses it."""
        try:
            folder = os.open(self.run, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            raise self.not_up_error() from None
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(timeout_s)
                # a socket's path may have 107 bytes only, a state directory's more
                connection.connect(f"/proc/self/fd/{folder}/{SOCKET}")
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile("rb") as lines:
                    line = lines.readline()
        except (FileNotFoundError, ConnectionRefusedError):
            raise self.not_up_error() from None
        except TimeoutError:
            raise VclusterError(f"cluster {self.name} did not answer in {timeout_s:g} s") from None
        except OSError as error:
            raise VclusterError(f"cluster {self.name}: {error.strerror}") from error
        finally:
            os.close(folder)
        if not line:
            raise VclusterError(f"cluster {self.name} hung up: see {self.log / 'head.log'}")
        answer: dict[str, Any] = json.loads(line)
        if not answer.pop("ok"):
            kind = UserError if answer["status"] == UserError.status else VclusterError
            raise kind(answer["error"])
        return answer

    def not_up_error(self) -> UserError:
        name = "" if self.name == "default" else f" --name {self.name}"
        return UserError(f"cluster {self.name} is not up: vcluster{name} up")
