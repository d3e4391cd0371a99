"""The toolchains as declared: those shipped, a version more as data alone, what is refused, and
what each distribution gets of them: its packages, as recorded, and the toolchains of `smoke`."""

import re
from pathlib import Path

import pytest
from support.json_files import replace_text

from roundtrip.errors import UserError
from roundtrip.measure.campaign_file import load_campaign
from roundtrip.sites import machine
from roundtrip.sites.toolchains import spec
from roundtrip.sites.toolchains.spec import Catalogue, read_catalogue, read_catalogue_file

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "site-configs" / "toolchains.toml"
KNOWN = read_catalogue()
#: An MPI of a family that is there already, in another version: this is all that it takes.
SECOND_MPICH = """
[mpi.mpich43]
family = "mpich"
series = "4.3"
wheel = "mpich==4.3.2"
hashes = ["sha256:0123"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The shipped toolchains, to be changed."""
    copy = tmp_path / "toolchains.toml"
    copy.write_text(SHIPPED.read_text())
    return copy


def test_names_that_reframe_accepts() -> None:
    assert len(KNOWN.toolchains) == len(KNOWN.mpis) * len(KNOWN.boosts)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in KNOWN.toolchains)
    assert set(KNOWN.smoke_names) <= set(KNOWN.toolchains)


def test_wheels_are_pinned_by_the_hashes_of_their_files() -> None:
    pins = [mpi.pip_requirement for mpi in KNOWN.mpis.values() if mpi.pip_requirement]
    assert pins
    for pin in pins:
        assert re.fullmatch(r"\w+==[\d.]+(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n", pin)


def test_a_second_build_of_an_mpi_is_one_table(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "compiler_version", lambda: "12.2.0")
    with file.open("a") as stream:
        stream.write(SECOND_MPICH)
    new_catalogue = read_catalogue_file(file)
    assert set(new_catalogue.toolchains) - set(KNOWN.toolchains) == {
        f"mpich43-{boost}" for boost in KNOWN.boosts
    }
    older = spec.toolchain_plan(new_catalogue.toolchains["mpich43-boost181"])
    newer = spec.toolchain_plan(new_catalogue.toolchains["mpich50-boost181"])
    assert (older.mpi.origin, newer.mpi.origin) == ("PyPI mpich 4.3.2", "PyPI mpich 5.0.2")
    assert older.mpi.mpi.pip_requirement == "mpich==4.3.2 \\\n    --hash=sha256:0123\n"
    assert older.mpi.key != newer.mpi.key
    assert older.toolchain.mpi.title == "MPICH 4.3"


def test_a_newer_boost_is_one_table(file: Path) -> None:
    with file.open("a") as stream:
        stream.write('\n[boost.boost190]\nseries = "1.90"\ndistributions = []\n')
    assert read_catalogue_file(file).toolchains["mpich50-boost190"].boost.version == "1.90.0"


@pytest.mark.parametrize(
    ("old", "new", "fault", "line_start"),
    [
        ('packages = ["mpich"]', 'package = ["mpich"]', "unknown key 'package'; legal", "package"),
        ('family = "mpich"', 'family = "lam"', "unknown family 'lam'; there are: open", "family"),
        ('wheel = "mpich==5.0.2"', 'wheel = "mpich>=5"', "is not NAME==VERSION", "wheel"),
        ('packages = ["mpich"]\n', "", "mpich40: it needs one of `packages`", "[mpi.mpich40]"),
        ('  "sha256:425', '  "md5:425', "each beginning with sha256:", "hashes"),
        ("[boost.boost181]", "[boost.boost-181]", "'boost-181' is no name", "[boost.boost-181]"),
        ('series = "1.81"', "series = 1.81", "boost181.series: input should be", "series = 1.81"),
        ('title = "MPICH"\n', "", "'title' is missing", "[family.mpich]"),
    ],
)
def test_a_fault_has_its_line(file: Path, old: str, new: str, fault: str, line_start: str) -> None:
    replace_text(file, old, new)
    with pytest.raises(UserError) as error:
        read_catalogue_file(file)
    assert fault in error.value.message
    assert error.value.file == str(file)
    lines = file.read_text().splitlines()
    assert error.value.line is not None
    assert lines[error.value.line - 1].startswith(line_start)


def test_selection() -> None:
    assert [t.name for t in KNOWN.select([])] == list(KNOWN.smoke_names)
    assert [t.name for t in KNOWN.select(["mpich50-boost174"] * 2)] == ["mpich50-boost174"]
    available = KNOWN.available_toolchains
    without_simulators = [item for item in available if not item.mpi.family_table.simulator]
    assert KNOWN.select([], everything=True) == without_simulators
    (simulator,) = KNOWN.select(["smpi-boost181"])
    assert simulator.mpi.family_table.simulator


def test_unknown_name_lists_the_legal_ones_on_one_line() -> None:
    with pytest.raises(UserError) as error:
        KNOWN.select(["mpich41-boost181"])
    message = str(error.value)
    assert "mpich41-boost181" in message
    assert all(name in message for name in KNOWN.toolchains)
    assert "\n" not in message


LOCAL = ROOT / "site-configs" / "local"
RECORDED = ROOT / "tests" / "data" / "distributions"
#: The toolchains of `smoke`, by distribution.
SMOKE = {
    "debian12": ("openmpi41-boost181", "mpich40-boost181"),
    "debian13": ("openmpi50-boost188", "mpich42-boost188"),
    "ubuntu24.04": ("openmpi41-boost183", "mpich50-boost183"),
    "el9": ("openmpi41-boost175", "mpich41-boost175"),
}


def packages(distribution: str) -> dict[str, str]:
    """Versions of the packages that `distribution` offers, as recorded."""
    lines = (RECORDED / f"{distribution}.txt").read_text().splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def on(
    distribution: str, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str] | None = None
) -> Catalogue:
    """The catalogue on a machine of `distribution` with all its packages, or those `installed`."""
    versions = packages(distribution) if installed is None else installed
    monkeypatch.setattr(machine, "distribution_name", lambda: distribution)
    monkeypatch.setattr(
        machine,
        "installed_packages",
        lambda names: {n: versions[n] for n in names if n in versions},
    )
    return read_catalogue()


def test_every_distribution_is_recorded() -> None:
    assert {file.stem for file in RECORDED.glob("*.txt")} == set(SMOKE)


@pytest.mark.parametrize("distribution", SMOKE)
def test_it_offers_what_is_installed(distribution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = "dnf" if distribution.startswith("el") else "apt"
    listing = (LOCAL / f"{manager}-packages.txt").read_text()
    versions = packages(distribution)
    assert set(machine.packages_in_sections(listing, ("campaign", "test"))) <= set(versions)
    boosts = {toolchain.boost for toolchain in on(distribution, monkeypatch).available_toolchains}
    assert boosts
    for boost in boosts:
        if manager == "dnf":
            assert versions["boost"].startswith(f"{boost.series}.")
            continue
        for name in (f"libboost{boost.series}-dev", f"libboost-mpi{boost.version}"):
            assert versions[name].startswith(f"{boost.series}.")


@pytest.mark.parametrize(("distribution", "names"), SMOKE.items())
def test_smoke_is_the_distribution_s_own_mpis_with_its_newest_boost(
    distribution: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    local_catalogue = on(distribution, monkeypatch)
    assert local_catalogue.smoke_names == names
    assert set(names) <= {toolchain.name for toolchain in local_catalogue.available_toolchains}
    (check,) = load_campaign(ROOT / "campaigns" / "smoke.toml").checks
    assert check.toolchains == names


def test_the_distribution_s_own_series_replaces_a_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    local_catalogue = on("debian13", monkeypatch)
    debian, wheel = local_catalogue.mpis["openmpi50"], local_catalogue.mpis["mpich50"]
    assert (debian.packages[0], debian.title) == ("openmpi-bin", "Open MPI 5.0")
    assert debian.pip_requirement is None
    assert wheel.pip_requirement
    mpi_names = {toolchain.mpi.name for toolchain in local_catalogue.available_toolchains}
    assert mpi_names == {"openmpi50", "mpich42", "mpich50"}
    assert "openmpi41-boost181" in local_catalogue.toolchains  # a name that other machines have


def test_without_root_smoke_is_the_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    local_catalogue = on("debian13", monkeypatch, installed={})
    assert local_catalogue.smoke_names == ("openmpi50-boost188", "mpich50-boost188")
    assert all(
        local_catalogue.toolchains[name].mpi.pip_requirement for name in local_catalogue.smoke_names
    )


@pytest.mark.parametrize(
    ("version", "name"),
    [("4.0.5-1", "openmpi40"), ("5.0.9-1", "openmpi50"), ("3.1.0-1", ""), ("6.0.0-1", "")],
)
def test_a_series_that_the_family_accepts_names_the_mpi(
    version: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_catalogue = on("debian14", monkeypatch, installed={"openmpi-bin": version})
    mpis = [mpi for mpi in local_catalogue.mpis.values() if mpi.is_available]
    mpi_names = [mpi.name for mpi in mpis if "openmpi-bin" in mpi.packages]
    assert mpi_names == ([name] if name else [])
    assert local_catalogue.newest_boost.name == "boost188"  # of an unknown distribution, the newest


def test_a_mpi_that_does_not_work_there_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    local_catalogue = on("ubuntu24.04", monkeypatch)
    assert not local_catalogue.mpis["mpich40"].is_available
    assert "mpich42" not in local_catalogue.mpis
    assert local_catalogue.mpis["mpich40"] == read_catalogue().mpis["mpich40"].model_copy(
        update={"is_available": False}
    )


def test_the_release_of_a_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    release = {"ID": "ubuntu", "VERSION_ID": "24.04", "NAME": "Ubuntu"}
    monkeypatch.setattr(machine.platform, "freedesktop_os_release", lambda: release)
    assert (machine.distribution_name(), machine.distributor_name()) == ("ubuntu24.04", "Ubuntu")
    release.update(ID="rocky", VERSION_ID="9.6", NAME="Rocky Linux", PLATFORM_ID="platform:el9")
    assert (machine.distribution_name(), machine.distributor_name()) == ("el9", "Rocky")
