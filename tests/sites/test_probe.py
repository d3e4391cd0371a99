"""What a cluster says of itself, read from the texts of its commands."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import archspec.cpu
import pytest
from support.programs import write_script

from roundtrip.sites import probe, schedulers
from roundtrip.sites.machine import read_host
from roundtrip.sites.probe import FabricPort, MachineFacts
from roundtrip.sites.schedulers.slurm import facts as slurm

SLURM = schedulers.SCHEDULERS[0]
DATA = Path(__file__).parent / "data"
HOST = read_host(DATA.parents[1] / "data" / "hosts" / "virtual-2-cores")
#: Of the processor of this machine, nothing.
NO_PROCESSOR: dict[str, Any] = dict.fromkeys(("cpu", "target", "sockets", "cores"))
TEXTS = {
    "sinfo -h": (DATA / "sinfo.txt").read_text(),
    "srun --mpi=list": (DATA / "srun-mpi-list.txt").read_text(),
    "sinfo --version": "slurm 23.11.1\n",
    "scontrol show": "SlurmctldHost = head\nTaskPlugin              = task/cgroup,task/affinity\n",
    "ucx_info -v": "# Library version: 1.17.0\n# API headers version: 1.17.0\n",
    "rpm -q": "47.1",
}


def cluster(*command: str) -> str | None:
    """A cluster that answers with the recorded texts."""
    words = " ".join(command)
    return next((text for start, text in TEXTS.items() if words.startswith(start)), None)


PORTS = (
    FabricPort("mlx5_0", 1, True, "InfiniBand"),
    FabricPort("mlx5_1", 1, False, "Ethernet"),
    FabricPort("mlx5_1", 2, True, "Ethernet"),
)


def devices(folder: Path) -> Path:
    """A /sys/class with `PORTS`, an Ethernet device, an IPoIB device and a loopback."""
    for name, kind in (("eno1", "1"), ("ib0", "32"), ("lo", "772")):
        place = folder / "net" / name
        place.mkdir(parents=True)
        (place / "type").write_text(kind + "\n")
        if name != "lo":
            (place / "device").mkdir()
    for port in PORTS:
        place = folder / "infiniband" / port.device / "ports" / str(port.number)
        place.mkdir(parents=True)
        (place / "state").write_text("4: ACTIVE\n" if port.active else "1: DOWN\n")
        (place / "link_layer").write_text(f"{port.link_layer}\n")
    return folder


def test_a_cluster_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "read_host", lambda: HOST)
    monkeypatch.setattr(schedulers, "installed_scheduler", lambda: SLURM)
    facts = probe.collect_machine_facts(cluster, devices(tmp_path))
    assert facts.cluster.version == "23.11.1"
    partition, *_ = facts.cluster.usable_partitions
    assert (partition.name, partition.nodes, partition.cores) == ("compute", 128, 48)
    cores_by_name = {item.name: item.cores for item in facts.cluster.distinct_partitions}
    assert [*cores_by_name.items()] == [("compute", 48), ("gpu", 32)]
    assert facts.cluster.accounting is False
    assert facts.cluster.offered_pmis == ("none", "pmi2", "pmix", "pmix_v3", "pmix_v4")
    assert facts.cluster.binds_tasks is True
    assert facts.active_port == FabricPort("mlx5_0", 1, True, "InfiniBand")
    assert facts.find_interface(infiniband=True) == "ib0"
    assert facts.find_interface(infiniband=False) == "eno1"
    versions = {item.name: item.version for item in facts.libraries}
    assert versions == {"slurm": "23.11.1", "ucx": "1.17.0", "rdma-core": "47.1"}
    assert (facts.cpu, facts.sockets) == (HOST.cpu_model, HOST.sockets)
    assert facts.cores == HOST.cores // HOST.sockets


def test_a_machine_with_nothing_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = probe.collect_machine_facts(lambda *_: None, tmp_path)
    assert replace(facts, **NO_PROCESSOR) == MachineFacts()
    assert facts.cluster.usable_partitions == []
    assert facts.active_port is None
    scheduler, *others = facts.describe_lines()
    assert scheduler == "scheduler: none, PATH has no command of Slurm"
    assert not any("Slurm" in line or "PMI" in line for line in others)


def test_every_port_is_found_and_those_down_are_marked(tmp_path: Path) -> None:
    ports = probe.read_ports(devices(tmp_path) / "infiniband")
    assert ports == PORTS
    assert MachineFacts(ports=ports[1:]).active_port == ports[2]


def test_garbage_gives_nothing() -> None:
    for text in ("", "sinfo: error: Unable to contact slurm controller", "a|b|c|d", "hca"):
        assert slurm.parse_partitions(text) == ()


@pytest.mark.parametrize(
    ("processor", "target"),
    [
        ("core2", "x86_64"),
        ("nehalem", "x86_64_v2"),
        ("zen", "x86_64_v3"),
        ("icelake", "x86_64_v3"),
        ("neoverse_v1", "aarch64"),
    ],
)
def test_the_target_is_what_the_processor_has(
    processor: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archspec.cpu, "host", lambda: archspec.cpu.TARGETS[processor])
    assert probe.collect_machine_facts(lambda *_: None, tmp_path).target == target


def test_a_library_without_headers_is_not_one_to_build_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / "opt"
    for program in ("sinfo", "ucx_info"):
        write_script(prefix / "bin" / program, "")
    monkeypatch.setenv("PATH", f"{prefix}/bin")
    header, library = prefix / "include/ucp/api/ucp.h", prefix / "lib/x86_64-linux-gnu/libucp.so"
    header.parent.mkdir(parents=True)
    header.touch()

    def found() -> dict[str, probe.Library]:
        return {item.name: item for item in probe.collect_libraries(cluster, SLURM, "23.11.1")}

    assert found()["slurm"].missing_file == "include/slurm/slurm.h"
    assert found()["slurm"].prefix == str(prefix)
    assert found()["ucx"].missing_file == "lib/libucp.so"
    library.parent.mkdir(parents=True)
    library.touch()
    assert found()["ucx"].missing_file is None
    assert str(found()["slurm"]) == f"slurm 23.11.1 in {prefix}, without include/slurm/slurm.h"


def test_a_library_that_open_mpi_5_would_not_find_is_none_to_build_with(tmp_path: Path) -> None:
    """Its configure ends with "External libevent requested but not found" on Debian."""
    (tmp_path / "include/event2").mkdir(parents=True)
    (tmp_path / "include/event2/event.h").touch()
    (tmp_path / "lib/x86_64-linux-gnu").mkdir(parents=True)
    (tmp_path / "lib/x86_64-linux-gnu/libevent_core.so").touch()

    def run(*command: str) -> str | None:
        answers = {"--modversion": "2.1.12\n", "--variable=prefix": f"{tmp_path}\n"}
        return answers.get(command[1]) if command[-1] == "libevent" else None

    (library,) = probe.collect_libraries(run, SLURM, None)
    assert library.missing_file == "lib/libevent_core.so"
    (tmp_path / "lib/libevent_core.so").touch()
    (library,) = probe.collect_libraries(run, SLURM, None)
    assert library.missing_file is None
