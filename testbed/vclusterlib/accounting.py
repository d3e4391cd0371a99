"""slurmdbd and its MariaDB, which listens on a unix socket only and keeps its data in mysql/."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from vclusterlib.daemons import Daemons
from vclusterlib.errors import VclusterError
from vclusterlib.slurmconf import CLUSTER_NAME
from vclusterlib.state import State

_SOCKET = Path("/run/mysqld/mysqld.sock")
#: Options of the server and of the program that makes its files; --no-defaults must be first.
_OPTIONS = ("--no-defaults", "--user=root", "--innodb-log-file-size=16M")
_JOBS_OF_A_BOOT = 100_000


def first_job(state: State) -> int:
    """First job number of a boot; the boots use different numbers, so the database can keep all."""
    counter = state.path / "boots"
    boots = int(counter.read_text()) + 1 if counter.exists() else 0
    counter.write_text(f"{boots}\n")
    return boots * _JOBS_OF_A_BOOT + 1


def start(daemons: Daemons, state: State) -> None:
    """Start MariaDB and slurmdbd, and wait until slurmdbd knows the cluster."""
    _make_database(state)
    command = ["mariadbd", *_OPTIONS, f"--datadir={state.mysql}", f"--socket={_SOCKET}"]
    command += ["--pid-file=/run/mysqld/mariadbd.pid", "--skip-networking", "--skip-grant-tables"]
    command += ["--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900"]
    command += ["--innodb-buffer-pool-size=32M", "--performance-schema=0"]
    daemons.start("mariadbd", command)
    daemons.await_ready("mariadbd", _SOCKET.exists, 60)
    daemons.start("slurmdbd", ["slurmdbd", "-D"])
    daemons.await_ready("slurmdbd", lambda: _clusters() is not None, 30, "slurmdbd.log")
    if CLUSTER_NAME not in (_clusters() or []):
        command = ["sacctmgr", "-i", "-Q", "add", "cluster", CLUSTER_NAME]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def stop(daemons: Daemons) -> None:
    """End both, slurmdbd first, so that the next boot needs no recovery."""
    daemons.stop("slurmdbd", 5)
    daemons.stop("mariadbd", 10)


def _clusters() -> list[str] | None:
    command = ["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"]
    process = subprocess.run(command, capture_output=True, text=True)
    return None if process.returncode else process.stdout.split()


def _make_database(state: State) -> None:
    """Make empty database files; a copy is renamed, so that they are complete or do not exist.

    They are made in memory first, because MariaDB waits for the disk some hundred times.
    """
    if state.mysql.is_dir():
        return
    scratch = Path(tempfile.mkdtemp(dir="/dev/shm")) / "mysql"
    command = ["mariadb-install-db", *_OPTIONS, f"--datadir={scratch}", "--skip-test-db"]
    command.append("--auth-root-authentication-method=normal")
    with (state.log / "mariadb-install.log").open("wb") as log:
        process = subprocess.run(command, stdout=log, stderr=log)
    if process.returncode:
        raise VclusterError(f"mariadb-install-db failed, see {state.log / 'mariadb-install.log'}")
    copy = state.path / "mysql.new"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(scratch, copy)
    copy.rename(state.mysql)
    shutil.rmtree(scratch.parent)
