"""What tunes MPI from outside of site and toolchain."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from roundtrip.host import tuning


def test_variables_of_the_user_but_not_those_of_site_and_launcher(tmp_path: Path) -> None:
    environ = {
        "OMPI_MCA_btl_tcp_eager_limit": "64",
        "UCX_TLS": "tcp",
        "FI_PROVIDER": "tcp",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_MCA_orte_precondition_transports": "0123-4567",
        "OMP_NUM_THREADS": "1",
        "HOME": "/home/me",
    }
    script = "# export NOT\nexport UCX_TLS=rc SBATCH_ACCOUNT=me\n"
    declared = {"FI_PROVIDER"} | tuning.named(script)
    assert tuning.found(declared, environ, tmp_path) == {"OMPI_MCA_btl_tcp_eager_limit": "64"}


def test_parameters_in_the_users_home(tmp_path: Path) -> None:
    file = tmp_path / ".openmpi" / "mca-params.conf"
    file.parent.mkdir()
    file.write_text("# nothing yet\n\n")
    assert tuning.found((), {}, tmp_path) == {}
    file.write_text("# mine\nbtl_tcp_sndbuf = 2048 # small\n  pml = ob1\n")
    told = "btl_tcp_sndbuf = 2048; pml = ob1"
    assert tuning.found((), {}, tmp_path) == {"~/.openmpi/mca-params.conf": told}
    file.unlink()
    file.mkdir()
    assert tuning.found((), {}, tmp_path) == {}, "MPI cannot read it either"


@given(content=st.binary(max_size=5000), value=st.text(max_size=5000))
def test_whatever_they_hold_is_short(tmp_path_factory: object, content: bytes, value: str) -> None:
    folder = tmp_path_factory.mktemp("home")  # type: ignore[attr-defined]
    (folder / ".pmix").mkdir()
    (folder / ".pmix" / "mca-params.conf").write_bytes(content)
    found = tuning.found((), {"UCX_LOG_FILE": value}, folder)
    assert all(len(one) <= 900 for one in found.values())
