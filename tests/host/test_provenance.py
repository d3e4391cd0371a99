from __future__ import annotations

import getpass
import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from roundtrip.host import facts, packages, provenance

RECORDED = facts.read(Path(__file__).parents[1] / "data" / "hosts" / "virtual-2-cores")


def test_snapshot_is_json_and_names_the_tools() -> None:
    record = json.loads(json.dumps(provenance.snapshot()))
    assert record["schema"] == 1
    assert record["cpu"]["logical"] >= 1
    assert record["microarchitecture"]
    assert record["versions"]["reframe"] == metadata.version("reframe-hpc")
    assert record["versions"]["python"].startswith("3.")


def test_host_name_stands_in_one_place_and_no_user_or_path_anywhere() -> None:
    record = provenance.describe(replace(RECORDED, hostname="secret-host-7"))
    assert record.pop("hostname") == "secret-host-7"
    text = json.dumps(record)
    assert "secret-host-7" not in text
    assert str(Path.home()) not in text
    assert f'"{getpass.getuser()}"' not in text


@pytest.mark.parametrize(
    "change",
    [
        {"hostname": "another"},
        {"load": (9.0, 9.0, 9.0)},
        {"steal": 0.3},
        {"usable": 1},
        {"swap_used_kib": 12345},
        {"memory_kib": RECORDED.memory_kib + 4096},
    ],
)
def test_fingerprint_ignores_what_changes_by_the_minute(change: dict[str, object]) -> None:
    other = replace(RECORDED, **change)  # type: ignore[arg-type]
    assert provenance.fingerprint(other) == provenance.fingerprint(RECORDED)


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "6.2.0"},
        {"cpu_model": "Another"},
        {"governors": ("powersave",)},
        {"smt": True},
        {"mitigations": ()},
        {"memory_kib": RECORDED.memory_kib * 2},
    ],
)
def test_fingerprint_changes_with_hardware_kernel_and_settings(change: dict[str, object]) -> None:
    other = replace(RECORDED, **change)  # type: ignore[arg-type]
    assert provenance.fingerprint(other) != provenance.fingerprint(RECORDED)


def test_package_sections() -> None:
    listing = "# head\n[campaign]\nmpich\n  g++ # why\n\n[test]\nchromium\n"
    assert packages.wanted(listing, ("campaign",)) == ["mpich", "g++"]
    assert packages.wanted(listing, ("campaign", "test")) == ["mpich", "g++", "chromium"]
    assert "libopenmpi-dev" in provenance.campaign_packages()


def test_installed_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = packages.installed(["dpkg", "no-such-package-at-all"])
    assert found is not None
    assert list(found) == ["dpkg"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert packages.installed(["dpkg"]) is None
