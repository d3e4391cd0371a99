"""Folders by their variables, and of a user who has no home."""

from pathlib import Path

import pytest

from roundtrip import paths
from roundtrip.errors import UserError


@pytest.fixture(autouse=True)
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", home)
    for name in ("ROUNDTRIP_TOOLCHAINS", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_home_a_user_is_asked_for_the_folder_of_toolchains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UserError, match="set HOME or ROUNDTRIP_TOOLCHAINS"):
        paths.toolchains()
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert paths.toolchains() == Path("/cache/roundtrip/toolchains")
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", "/mine")
    assert paths.toolchains() == Path("/mine")


def test_a_folder_is_absolute_and_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ReFrame runs in another folder, and a shell of a job says where it is without links."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "link").symlink_to("scratch")
    monkeypatch.chdir(tmp_path)
    for value in ("link/runs", str(tmp_path / "link" / "runs")):
        monkeypatch.setenv("ROUNDTRIP_RUNS", value)
        assert paths.runs() == tmp_path.resolve() / "scratch" / "runs"


def test_without_a_home_state_lies_beside_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTRIP_RUNS", "/runs")
    assert paths.state() == Path("/runs/.state/roundtrip") or paths.state() == Path("/runs/.state")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert paths.state() == Path("/state/roundtrip")
