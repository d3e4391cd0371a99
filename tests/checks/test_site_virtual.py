"""Site `virtual`: what its transports are said to be is what a job script sets."""

import runpy
from pathlib import Path

import pytest
from support.programs import run_program

CONFIG = Path(__file__).parents[2] / "site-configs" / "virtual" / "reframe.py"
ENVIRONMENTS = runpy.run_path(str(CONFIG))["site_configuration"]["environments"]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment["name"])
def test_a_shell_takes_each_variable_whole(environment: dict) -> None:
    """ReFrame writes ``export NAME=VALUE`` as it stands: a bare ``;`` would end the value."""
    for name, value in environment["env_vars"]:
        script = f'export {name}={value}\nprintf %s "${name}"'
        process = run_program("bash", "-ec", script, check=True)
        assert process.stderr == ""
        assert process.stdout == value.strip("'")


def test_the_udp_transport_is_reliable_datagrams() -> None:
    (udp,) = [environment for environment in ENVIRONMENTS if environment["name"] == "mpich50-udp"]
    assert ["FI_PROVIDER", "'udp;ofi_rxd'"] in udp["env_vars"]


def test_osu_is_offered_where_it_was_built_or_how_to_build_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_OSU", str(tmp_path))
    (tmp_path / "mpich50").mkdir()
    environments = runpy.run_path(str(CONFIG))["site_configuration"]["environments"]
    osu_environments = {
        environment["name"] for environment in environments if "osu" in environment["features"]
    }
    assert osu_environments == {"mpich50-tcp", "mpich50-udp", "mpich50-ucx"}
    hint = next(
        environment["extras"]["lacks"]["osu"]
        for environment in environments
        if environment["name"] == "mpich40-ucx"
    )
    assert f"--prefix={tmp_path}/mpich40 && make -k install" in hint
