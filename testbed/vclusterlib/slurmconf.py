"""The configuration files of Slurm and munge, and /etc/hosts, for one cluster.

The user's files may be laid over Slurm's: other partitions, a topology, preemption.  With
accounting there is a slurmdbd and its MariaDB, which listens on a unix socket only and keeps its
data in mysql/.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

from vclusterlib import UserError, VclusterError
from vclusterlib.daemons import Daemons
from vclusterlib.spec import Node, Spec
from vclusterlib.state import State, write_atomically

CLUSTER_NAME = "vgrid"
#: The head is a node as well: jobs that drive others run there, and take no node from them.
SERVICE_NODE = "head"

_MYSQL_SOCKET = Path("/run/mysqld/mysqld.sock")
#: Options of the server and of the program that makes its files; --no-defaults must be first.
_MARIADB_OPTIONS = ("--no-defaults", "--user=root", "--innodb-log-file-size=16M")

# config_overrides: the declared CPUs count, not the machine's real ones.
# task/none, proctrack/linuxproc: no cgroups, and no binding, which would put the first rank of
#   every node on the same physical core.
# MpiDefault=none: MPICH under pmix silently becomes singletons; each environment says --mpi=.
# EnforcePartLimits=ALL: a job for more nodes than there are is refused, not queued for ever.
# jobcomp/filetxt: `sacct -c` works without a database.
_SLURM_TEMPLATE = """\
ClusterName={cluster}
SlurmctldHost=head({head})
AuthType=auth/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={spool}/ctld
SlurmdSpoolDir={spool}/%n
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile={log}/slurmctld.log
SlurmdLogFile={log}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
CompleteWait=0
KillWait=5
InactiveLimit=0
Waittime=0
SlurmctldTimeout=60
SlurmdTimeout=60
MessageTimeout=20
TCPTimeout=5
EnforcePartLimits=ALL
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=5,sched_interval=5
{accounting}
JobCompType=jobcomp/filetxt
JobCompLoc={log}/jobcomp.txt
TopologyPlugin=topology/none
NodeName=DEFAULT Sockets=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} State=UNKNOWN
{nodes}
PartitionName=clusterA Nodes=a[1-{nodes_a}] MaxTime=60 State=UP
PartitionName=clusterB Nodes=b[1-{nodes_b}] MaxTime=60 State=UP
PartitionName=grid Nodes=a[1-{nodes_a}],b[1-{nodes_b}] MaxTime=60 State=UP Default=YES
NodeName={service} NodeAddr={head} NodeHostname=head
PartitionName=service Nodes={service} MaxTime=60 State=UP
"""

_SLURMDBD_TEMPLATE = """\
AuthType=auth/munge
DbdHost=head
DbdAddr={head}
SlurmUser=root
LogFile={log}/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
"""


def slurm_conf(spec: Spec, state: State, first_job: int = 1) -> str:
    """The text of slurm.conf; job numbers begin with `first_job`."""
    accounting = "AccountingStorageType=accounting_storage/none"
    if spec.accounting:
        accounting = (
            "AccountingStorageType=accounting_storage/slurmdbd\n"
            f"AccountingStorageHost=head\nFirstJobId={first_job}"
        )
    text = _SLURM_TEMPLATE.format(
        cluster=CLUSTER_NAME,
        head=spec.head_address,
        service=SERVICE_NODE,
        spool=state.spool,
        log=state.log,
        accounting=accounting,
        cpus=spec.cpus,
        memory=spec.memory,
        nodes="\n".join(_node_line(spec, node) for node in spec.nodes),
        nodes_a=spec.nodes_a,
        nodes_b=spec.nodes_b,
    )
    return _apply_overlay(state, text)


def _node_line(spec: Spec, node: Node) -> str:
    return (
        f"NodeName={node.name} NodeAddr={spec.slurm_address(node)} NodeHostname={node.name} "
        f"Feature={node.feature}{',hub' if spec.fabric == 'hub' else ''}"
    )


def slurmdbd_conf(spec: Spec, state: State) -> str:
    return _SLURMDBD_TEMPLATE.format(head=spec.head_address, log=state.log)


def hosts_file(spec: Spec) -> str:
    """The text of /etc/hosts: ``a1-f`` is a1 on the fabric, which is also ``a1`` unless Slurm has
    its own network."""
    lines = ["127.0.0.1 localhost", f"{spec.head_address} head"]
    for node in spec.nodes:
        if spec.has_management_network:
            lines.append(f"{node.management_address} {node.name}")
        name = "" if spec.has_management_network else f"{node.name} "
        lines.append(f"{node.fabric_address} {name}{node.name}-f")
    return "\n".join(lines) + "\n"


def write_files(spec: Spec, state: State, first_job: int = 1) -> None:
    """Write all files below the state's etc/; the munge key is made once, for its owner only."""
    for folder in ("slurm", "munge"):
        (state.etc / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(state.etc / "slurm" / "slurm.conf", slurm_conf(spec, state, first_job), 0o644)
    if spec.accounting:
        write_atomically(state.etc / "slurm" / "slurmdbd.conf", slurmdbd_conf(spec, state), 0o600)
    _write_other_overlay_files(state)
    write_atomically(state.etc / "hosts", hosts_file(spec), 0o644)
    key = state.etc / "munge" / "munge.key"
    if not key.is_file() or key.stat().st_size != 128:
        key.unlink(missing_ok=True)
        # 128 characters of 4 bits each: munge hashes the key, so 512 bits of entropy is plenty
        write_atomically(key, secrets.token_hex(64), 0o400)


#: First keys of the lines of slurm.conf that each describe one of several nodes or partitions.
_REPEATED_KEYS = ("NodeName", "PartitionName")
_SLURM_CONF = "slurm.conf"
_OUR_FILES = (_SLURM_CONF, "slurmdbd.conf")


def copy_overlay(folder: str, state: State) -> None:
    """Replace the overlay in the state by the configuration files of `folder`, UserError if it has
    none; "" removes the overlay."""
    overlay_folder = state.path / "overlay"
    shutil.rmtree(overlay_folder, ignore_errors=True)
    files = sorted(Path(folder).glob("*.conf")) if folder else []
    if folder and not files:
        raise UserError(f"--slurm {folder}: there is no *.conf in it")
    for file in files:
        overlay_folder.mkdir(exist_ok=True)
        shutil.copyfile(file, overlay_folder / file.name)


def _apply_overlay(state: State, text: str) -> str:
    """The `text` of slurm.conf, changed by the slurm.conf of the overlay, if any.

    A line of a node or partition in `text` changes only the keys that it names; any other key
    replaces that in `text`; new nodes, partitions and keys are added.
    """
    file = state.path / "overlay" / _SLURM_CONF
    if not file.is_file():
        return text
    lines = text.splitlines()
    for line in file.read_text().splitlines():
        if (new_line := line.split("#")[0].strip()) and (fields := _fields(new_line)):
            _merge_line(lines, new_line, fields)
    return "\n".join(lines) + "\n"


def _write_other_overlay_files(state: State) -> None:
    """Put the other files of the overlay, such as topology.conf, beside slurm.conf."""
    for old_file in (state.etc / "slurm").glob("*.conf"):
        if old_file.name not in _OUR_FILES:
            old_file.unlink()
    for file in sorted((state.path / "overlay").glob("*.conf")):
        if file.name not in _OUR_FILES:
            write_atomically(state.etc / "slurm" / file.name, file.read_text(), 0o644)


def _merge_line(lines: list[str], new_line: str, fields: dict[str, str]) -> None:
    key = next(iter(fields))
    for number, line in enumerate(lines):
        old_fields = _fields(line)
        if key not in _REPEATED_KEYS and key in old_fields:
            lines[number] = new_line
            return
        if key in _REPEATED_KEYS and old_fields.get(key) == fields[key]:
            all_fields = {**old_fields, **fields}
            lines[number] = " ".join(f"{name}={value}" for name, value in all_fields.items())
            return
    lines.append(new_line)


def _fields(line: str) -> dict[str, str]:
    """The values of a line by key; only the first unless it is of a node or partition."""
    pairs = [word.split("=", 1) for word in line.split() if "=" in word]
    if pairs and pairs[0][0] not in _REPEATED_KEYS:
        pairs = pairs[:1]
    return dict(pairs)


def next_first_job(state: State) -> int:
    """Count a boot, and return its first job number: no two boots share one in the database."""
    counter = state.path / "boots"
    boots = int(counter.read_text()) + 1 if counter.exists() else 0
    counter.write_text(f"{boots}\n")
    return boots * 100_000 + 1


def start_accounting(daemons: Daemons, state: State) -> None:
    """Start MariaDB and slurmdbd, and wait until slurmdbd knows the cluster."""
    _make_database(state)
    command = ["mariadbd", *_MARIADB_OPTIONS, f"--datadir={state.mysql}"]
    command.append(f"--socket={_MYSQL_SOCKET}")
    command += ["--pid-file=/run/mysqld/mariadbd.pid", "--skip-networking", "--skip-grant-tables"]
    command += ["--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900"]
    command += ["--innodb-buffer-pool-size=32M", "--performance-schema=0"]
    daemons.start("mariadbd", command)
    daemons.await_ready("mariadbd", _MYSQL_SOCKET.exists, 60)
    daemons.start("slurmdbd", ["slurmdbd", "-D"])
    daemons.await_ready("slurmdbd", lambda: _accounting_clusters() is not None, 30, "slurmdbd.log")
    if CLUSTER_NAME not in (_accounting_clusters() or []):
        command = ["sacctmgr", "-i", "-Q", "add", "cluster", CLUSTER_NAME]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def stop_accounting(daemons: Daemons) -> None:
    """End both, slurmdbd first, so that the next boot needs no recovery."""
    daemons.stop("slurmdbd", 5)
    daemons.stop("mariadbd", 10)


def _accounting_clusters() -> list[str] | None:
    command = ["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"]
    process = subprocess.run(command, capture_output=True, text=True)
    return None if process.returncode else process.stdout.split()


def _make_database(state: State) -> None:
    """Make empty database files, complete or none: a copy is renamed.  They are made in memory
    first, because MariaDB waits for the disk some hundred times."""
    if state.mysql.is_dir():
        return
    scratch = Path(tempfile.mkdtemp(dir="/dev/shm")) / "mysql"
    command = ["mariadb-install-db", *_MARIADB_OPTIONS, f"--datadir={scratch}", "--skip-test-db"]
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
