import getpass
import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from roundtrip.sites import machine
from roundtrip.sites.machine import CoreCache

HOST = machine.read_host(Path(__file__).parents[1] / "data" / "hosts" / "virtual-2-cores")


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_recorded_virtual_machine() -> None:
    host = HOST
    assert (host.logical, host.usable, host.cores, host.sockets) == (2, 2, 2, 1)
    assert host.cpu_model == "Intel(R) Xeon(R) Processor"
    assert host.smt is False
    assert (host.microcode, host.firmware) == ("0x1", None)
    assert host.virtual
    assert host.governors == ()
    assert host.turbo is None
    assert host.clocksource == "tsc"
    assert host.thp == "madvise"
    assert host.distribution == "Debian GNU/Linux 12 (bookworm)"
    assert host.load_averages == (0.08, 0.30, 0.95)
    assert CoreCache(level=1, kind="Data", size_kib=48, shared_by=1) in host.caches
    assert CoreCache(level=3, kind="Unified", size_kib=491520, shared_by=2) in host.caches
    assert dict(host.mitigations)["meltdown"] == "Not affected"
    assert 0 < host.steal_share < 0.01


def test_bare_metal_with_two_threads_a_core(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu"
    files = {
        f"{cpu}/online": "0-7",
        f"{cpu}/smt/active": "1",
        f"{cpu}/intel_pstate/no_turbo": "0",
        "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-2,5\n",
        "proc/meminfo": "MemTotal: 100 kB\nSwapTotal: 80 kB\nSwapFree: 50 kB\n",
        "sys/fs/cgroup/cpu.max": "150000 100000",
        "sys/devices/system/node/online": "0-1",
        "proc/sys/kernel/numa_balancing": "1",
        "sys/class/dmi/id/bios_version": "2.4.1\n",
        "proc/stat": "cpu  700 0 200 0 0 0 0 100 0 0\ncpu0 1 1 1 1 1 1 1 1\n",
    }
    for number in range(8):
        files[f"{cpu}/cpu{number}/topology/physical_package_id"] = str(number // 4)
        files[f"{cpu}/cpu{number}/topology/core_id"] = str(number % 2)
        governor = "powersave" if number else "schedutil"
        files[f"{cpu}/cpu{number}/cpufreq/scaling_governor"] = governor
    host = machine.read_host(tree(tmp_path, files))
    assert (host.logical, host.usable, host.cores, host.sockets) == (8, 4, 4, 2)
    assert host.smt is True
    assert host.turbo is True
    assert (host.microcode, host.firmware) == (None, "2.4.1")
    assert host.governors == ("powersave", "schedutil")
    assert host.quota == 1.5
    assert host.swap_used_kib == 30
    assert (host.numa_nodes, host.numa_balancing) == (2, True)
    assert not host.virtual
    assert host.steal_share == 0.1


def test_version_1_control_group(tmp_path: Path) -> None:
    cpu = "sys/fs/cgroup/cpu"
    files = {f"{cpu}/cpu.cfs_quota_us": "50000", f"{cpu}/cpu.cfs_period_us": "100000"}
    assert machine.read_host(tree(tmp_path, files)).quota == 0.5
    (tmp_path / cpu / "cpu.cfs_quota_us").write_text("-1")
    assert machine.read_host(tmp_path).quota is None


def test_a_kernel_that_says_nothing_is_one_processor_of_unknown_kind(tmp_path: Path) -> None:
    host = machine.read_host(tmp_path)
    assert (host.logical, host.cores, host.cpu_model) == (1, 1, "unknown")
    assert host.smt is host.turbo is host.quota is host.clocksource is None


def test_this_machine() -> None:
    host = machine.read_host()
    assert host.logical >= host.usable >= 1
    assert host.logical >= host.cores >= host.sockets >= 1
    assert host.memory_kib > 2**18
    assert host.kernel


def test_snapshot_is_json_and_names_the_tools() -> None:
    record = json.loads(json.dumps(machine.collect_machine_record()))
    assert record["schema"] == 1
    assert record["cpu"]["logical"] >= 1
    assert record["microarchitecture"]
    assert record["versions"]["reframe"] == metadata.version("reframe-hpc")
    assert record["versions"]["python"].startswith("3.")


def test_host_name_stands_in_one_place_and_no_user_or_path_anywhere() -> None:
    record = machine.host_record(replace(HOST, hostname="secret-host-7"))
    assert record.pop("hostname") == "secret-host-7"
    text = json.dumps(record)
    assert "secret-host-7" not in text
    assert str(Path.home()) not in text
    assert f'"{getpass.getuser()}"' not in text


@pytest.mark.parametrize(
    ("change", "is_seen"),
    [
        ({"hostname": "another"}, False),
        ({"load_averages": (9.0, 9.0, 9.0)}, False),
        ({"steal_share": 0.3}, False),
        ({"usable": 1}, False),
        ({"swap_used_kib": 12345}, False),
        ({"memory_kib": HOST.memory_kib + 4096}, False),
        ({"kernel": "6.2.0"}, True),
        ({"cpu_model": "Another"}, True),
        ({"governors": ("powersave",)}, True),
        ({"smt": True}, True),
        ({"mitigations": ()}, True),
        ({"memory_kib": HOST.memory_kib * 2}, True),
    ],
)
def test_fingerprint_changes_with_hardware_kernel_and_settings_not_by_the_minute(
    change: dict[str, object], is_seen: bool
) -> None:
    changed_host = replace(HOST, **change)  # type: ignore[arg-type]
    assert (
        machine.machine_fingerprint(changed_host) != machine.machine_fingerprint(HOST)
    ) is is_seen


def test_package_sections() -> None:
    listing = "# head\n[campaign]\nmpich\n  g++ # why\n\n[test]\nchromium\n"
    assert machine.packages_in_sections(listing, ("campaign",)) == ["mpich", "g++"]
    packages = machine.packages_in_sections(listing, ("campaign", "test"))
    assert packages == ["mpich", "g++", "chromium"]
    assert "libopenmpi-dev" in machine.campaign_packages()


@pytest.mark.parametrize(
    ("package", "upstream"),
    [
        ("4.1.4-3+b1", "4.1.4"),
        ("1:2.0+ds1-1", "2.0"),
        ("1.74.0+ds1-21", "1.74.0"),
        ("5.0~rc1", "5.0"),
        ("4.3.0+really4.2.1-1", "4.2.1"),
        ("4.1.1-7.el9", "4.1.1"),
    ],
)
def test_upstream_version(package: str, upstream: str) -> None:
    assert machine.upstream_version(package) == upstream


def test_installed_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = machine.installed_packages(["dpkg", "no-such-package-at-all"])
    assert versions is not None
    assert list(versions) == ["dpkg"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.installed_packages(["dpkg"]) is None
