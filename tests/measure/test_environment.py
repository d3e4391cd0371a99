"""What a run records of machine and software, and that it ends when a pinned file changes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.bundles import read_tree
from support.launches import write_launch

from roundtrip.errors import UserError
from roundtrip.measure import environment
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.measure.outcome import RunOutcome
from roundtrip.sites import machine
from roundtrip.sites.site import Case

PLAN = Matrix((ExpectedCase(Case("NetPIPE", (), "12345678", "s", "p", "gcc"), "f.py", ()),), ())


def site(folder: Path, **facts: Any) -> Any:
    """A site without toolchains, but for what `facts` say."""
    defaults = {"system": {"name": "s"}, "toolchains": {}, "partitions": {}, "folder": folder}
    return SimpleNamespace(**{**defaults, **facts})


def test_a_resumed_run_records_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = {"cpu": {"logical": 2}}
    monkeypatch.setattr(machine, "collect_machine_record", lambda: snapshot)
    monkeypatch.setenv("SPACK_ENV", str(tmp_path))
    (tmp_path / "spack.lock").write_text("{}")
    (tmp_path / "toolchain.json").write_text('{"mpi": "4.1.4"}')
    extras = {"prefix": str(tmp_path)}
    here = site(tmp_path, toolchains={"gcc": {"extras": extras}, "other": {}})
    folder = tmp_path / "env"
    environment.record_environment(here, PLAN, folder)
    first_files = {file.name: file.read_text() for file in folder.iterdir()}
    assert first_files.keys() == {
        *("host.json", "toolchains.json", "tools.json", "site-config.json", "spack.lock")
    }
    assert json.loads(first_files["toolchains.json"]) == {
        "gcc": {"reframe": {"extras": extras}, "installed": {"mpi": "4.1.4"}}
    }
    for cores in (4, 8):
        snapshot["cpu"]["logical"] = cores
        environment.record_environment(here, PLAN, folder)
    files = {file.name: file.read_text() for file in folder.iterdir()}
    assert {name: files.pop(name) for name in first_files} == first_files
    assert [json.loads(files[f"host.json.resumed-{n}"])["cpu"]["logical"] for n in (1, 2)] == [4, 8]
    assert len(files) == 2


def test_what_the_user_tunes_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "collect_machine_record", lambda: {})
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OMPI_MCA_pml", "UCX_TLS", "FI_PROVIDER", "PSM2_DEVICES"):
        monkeypatch.setenv(name, "mine")
    (tmp_path / "environment").write_text("export UCX_TLS=rc\n")
    here = site(
        tmp_path,
        system={"name": "s", "env_vars": [["OMPI_MCA_pml", "ob1"]]},
        toolchains={"gcc": {"env_vars": {"PSM2_DEVICES": "shm"}}},
    )
    environment.record_environment(here, PLAN, tmp_path / "env")
    record = json.loads((tmp_path / "env" / "tuning.json").read_text())
    assert record == {"variables": [["FI_PROVIDER", "mine"]]}


Stages = Callable[..., Any]
BUILD = "output/local/smp/a/build_netpipe_1"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "netpipe"
    file.write_text("as it was built")
    return file


@pytest.fixture
def begun(stage: Stages, program: Path) -> Callable[..., Any]:
    """A run whose program is built, and whose launches a player plays."""

    def begin(player: Callable[[Any, Path, int], None] = lambda *_: None) -> Any:
        campaign = stage(player)
        folder = campaign.tree.make_build_folder() / BUILD
        folder.mkdir(parents=True)
        (folder / "programs.json").write_text(json.dumps([str(program)]))
        environment.record_pinned_digests(campaign.tree)
        return campaign

    return begin


def test_a_run_that_nothing_changed_goes_on(begun: Any, tmp_path: Path) -> None:
    tree = begun().tree
    assert [pin["what"] for pin in tree.state["pins"]] == ["campaign", "program"]
    environment.require_unchanged(tree, tmp_path / "night.toml")
    first_pins = tree.state["pins"]
    environment.record_pinned_digests(tree)
    assert tree.state["pins"] == first_pins


def test_a_build_that_a_full_disk_ended_pins_nothing(begun: Any) -> None:
    tree = begun().tree
    folder = tree.make_build_folder() / BUILD
    folder.mkdir(parents=True)
    (folder / "programs.json").touch()
    first_pins = tree.state["pins"]
    tree.write_state(pins=[])
    environment.record_pinned_digests(tree)
    assert tree.state["pins"] == first_pins


@pytest.mark.parametrize(
    ("kind", "last_attempt", "passed"), [("program", 1, 2), ("library", 1, 2), ("library", 2, 4)]
)
def test_what_is_replaced_between_rounds_ends_the_run(
    begun: Any, linked_program: Path, program: Path, kind: str, last_attempt: int, passed: int
) -> None:
    """The launches of the round in which it is replaced fail."""
    linked_program.replace(program)
    file = program if kind == "program" else program.parent / "lib" / "libmpi.so.40.1"

    def player(case: Any, folder: Path, attempts: int) -> None:
        write_launch(case, folder)
        if attempts == last_attempt:
            file.write_bytes(file.read_bytes() + b"another")

    campaign = begun(player)
    assert campaign.run()
    assert sum(campaign.passed().values()) == passed
    message = f"mismatch: {kind} {file.name} ({file}) has changed since the run began: sha256 "
    assert campaign.tree.state["stopped"].startswith(message)
    launches = scan_launches(campaign.tree.path)
    reasons = [launch.reason for launch in launches if launch.status == "failed"]
    assert len(reasons) == 2 and all(reason.startswith(message) for reason in reasons)
    assert not RunOutcome.from_tree(campaign.tree).is_complete
    (campaign.tree.path / "env").mkdir(exist_ok=True)
    missing = read_tree(campaign.tree).launches.filter(status="missing")["reason"]
    stop = f"stopped: mismatch: {kind} {file.name} (private-"
    assert len(missing) and all(stop in reason for reason in missing)
    with pytest.raises(UserError, match=rf"mismatch: {kind} {file.name} \S+ has changed since"):
        environment.require_unchanged(campaign.tree, program.with_name("night.toml"))


def test_a_link_to_another_library_is_a_change(
    begun: Any, program: Path, linked_program: Path, tmp_path: Path
) -> None:
    linked_program.replace(program)
    tree = begun().tree
    assert environment.describe_change(tree) == ""
    library = tmp_path / "lib" / "libmpi.so.40.1"
    other = shutil.copy(library, tmp_path / "libmpi.so.40.2")
    (link,) = (file for file in library.parent.iterdir() if file.is_symlink())
    link.unlink()
    link.symlink_to(other)
    change = environment.describe_change(tree)
    assert change.startswith(f"mismatch: library {link.name} of program netpipe is another file")
    assert "libmpi.so.40.2" in change


def test_a_program_that_is_as_before_lets_the_run_go_on(begun: Any, program: Path) -> None:
    campaign = begun(lambda case, folder, _: write_launch(case, folder))
    program.write_text("another")
    campaign.run()
    assert campaign.passed() == {}
    program.write_text("as it was built")
    environment.record_pinned_digests(campaign.tree)
    campaign.run()
    assert campaign.tree.state["stopped"] is None
    assert RunOutcome.from_tree(campaign.tree).is_complete


def test_a_missing_program_is_a_change(begun: Any, program: Path) -> None:
    tree = begun().tree
    program.unlink()
    assert environment.describe_change(tree).endswith(" then, unreadable now")


def test_a_changed_campaign_fails_with_its_line(begun: Any, tmp_path: Path) -> None:
    tree, campaign = begun().tree, tmp_path / "night.toml"
    campaign.write_text("title = 't'\nlaunches = 9\n")
    with pytest.raises(UserError) as error:
        environment.require_unchanged(tree, campaign)
    assert str(error.value) == (
        f"{campaign}:2: line was '' when this run began, and is 'launches = 9'; start a new run"
    )


def test_a_changed_lock_is_found(
    stage: Stages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "spack.lock"
    lock.write_text('{"first": 1}')
    monkeypatch.setenv("SPACK_ENV", str(tmp_path))
    tree = stage(lambda *_: None).tree
    here, plan = site(tmp_path), Matrix((), ())
    environment.record_environment(here, plan, tree.path / "env")
    environment.record_pinned_digests(tree)
    lock.write_text('{"second": 2}')
    message = r"lock file spack\.lock \S+ has changed since the run began"
    with pytest.raises(UserError, match=message):
        environment.require_unchanged(tree, tmp_path / "night.toml")
    environment.record_environment(here, plan, tree.path / "env")
    assert (tree.path / "env" / "spack.lock").read_text() == '{"first": 1}'
    assert (tree.path / "env" / "spack.lock.resumed-1").read_text() == '{"second": 2}'


def test_a_run_from_before_pins_goes_on(stage: Stages, tmp_path: Path) -> None:
    tree = stage(lambda *_: None).tree
    assert environment.describe_change(tree) == ""
    environment.require_unchanged(tree, tmp_path / "night.toml")
