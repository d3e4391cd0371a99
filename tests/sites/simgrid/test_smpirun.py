"""What is made of SimGrid's `smpirun`, here a script that prints and writes as each test says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import script

from roundtrip.errors import UserError
from roundtrip.sites import simgrid
from roundtrip.sites.simgrid import record

CHECKOUT = Path(__file__).parents[3]
RECORDED = CHECKOUT / "tests" / "data" / "simulated" / "mg-s-2"
GRID = CHECKOUT / "site-configs" / "simulated" / "platforms" / "grid.xml"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that installs the script, in the toolchain or elsewhere on PATH."""
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path / "toolchains"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=":")

    def install(*lines: str, folder: str = "toolchains/smpi/bin") -> Path:
        file = tmp_path / folder / "smpirun"
        script(file, "\n".join(lines))
        return file

    return install


def test_the_smpirun_of_the_toolchain_goes_before_that_of_the_path(
    install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path_smpirun = install(folder="path")
    assert simgrid.find_smpirun() == path_smpirun
    toolchain_smpirun = install()
    assert simgrid.find_smpirun() == toolchain_smpirun
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="roundtrip toolchains smpi-boost181"):
        simgrid.find_smpirun()


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ("", ""),
        ("[0.1] Simulated time: 0.02 seconds\n", ""),
        ("[0.1] well\n  [0.2] Deadlock! \n[0.3] x\n", "[0.2] Deadlock!"),
        ("[0.2] (rank 1) MPI_Abort was called\n", "[0.2] (rank 1) MPI_Abort was called"),
    ],
)
def test_a_simulation_went_wrong_if_it_says_so(output: str, fault: str) -> None:
    assert simgrid.simulation_fault(output) == fault


def test_a_launch_that_ends_on_all_its_ranks_is_recorded(
    install: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # smpirun takes no path with blanks
    grid, folder = simgrid.read_platform(GRID, 2e8, 0), tmp_path / "recorded"
    files = (f"cp -r {RECORDED}/. .", "echo {} > run.json", ": > samples.csv")
    marker = "echo 'ROUNDTRIP COMPLETE ranks=2 hosts=2'"
    for lines, ranks in ((files, 2), ((*files, marker), 4)):
        install(*lines)
        with pytest.raises(UserError, match=f"did not end with its end marker on {ranks} ranks"):
            record(["program"], ranks, grid, folder)
        assert not folder.exists()
    install(*files, marker)
    assert record(["program"], 2, grid, folder).ranks == 2
    assert (folder / "run.json").read_text() == "{}\n"
    install(": > samples.csv", f"cp -r {RECORDED}/. .", marker)
    with pytest.raises(FileNotFoundError):
        record(["program"], 2, grid, tmp_path / "other")
    assert not (tmp_path / "other").exists()
