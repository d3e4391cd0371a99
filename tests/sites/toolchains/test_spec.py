"""The toolchains as declared: those shipped, a version more as data alone, and what is refused."""

import re
from pathlib import Path

import pytest
from support.json_files import replace_text

from roundtrip.errors import UserError
from roundtrip.sites.toolchains import spec
from roundtrip.sites.toolchains.spec import read_catalogue, read_catalogue_file, toolchain_plan

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
    older = toolchain_plan(new_catalogue.toolchains["mpich43-boost181"])
    newer = toolchain_plan(new_catalogue.toolchains["mpich50-boost181"])
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
