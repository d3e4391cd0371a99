"""What a program links, whatever the user's variables say."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs import run_program

from roundtrip.sites import programs


def test_the_mpi_library_is_found_with_links_resolved(linked_program: Path) -> None:
    assert (
        programs.find_linked_mpi(linked_program) == linked_program.parent / "lib" / "libmpi.so.40.1"
    )
    assert "libc.so.6" in programs.linked_libraries(linked_program)


@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "LD_PRELOAD"])
def test_variables_of_the_user_do_not_count(
    linked_program: Path, tmp_path: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library_copy = tmp_path / "copy" / "libmpi.so.40"
    library_copy.parent.mkdir()
    shutil.copy(tmp_path / "lib" / "libmpi.so.40.1", library_copy)
    value = str(library_copy.parent if variable == "LD_LIBRARY_PATH" else library_copy)
    process = run_program("ldd", linked_program, env={**os.environ, variable: value})
    assert str(library_copy) in process.stdout, "the loader itself takes the copy"
    monkeypatch.setenv(variable, value)
    assert (
        programs.find_linked_mpi(linked_program) == linked_program.parent / "lib" / "libmpi.so.40.1"
    )


def test_what_is_no_dynamic_program_links_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert programs.linked_libraries(script) == {}
    assert programs.find_linked_mpi(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("names", "is_mpi"),
    [
        (("libmpi.so.40", "libmpi_cxx.so.40", "libmpi_mpifh.so.40"), True),
        (("libmpich.so.12", "libmpichcxx.so.12"), True),
        (("libmpi_gnu_91.so.12", "libmpifort_gnu_91.so.12"), True),
        (("libmpi.so.40", "libmpich.so.12"), False),
        (("libm.so.6",), False),
    ],
)
def test_which_library_is_that_of_mpi(
    names: tuple[str, ...], is_mpi: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = {name: Path("/lib", name) for name in names}
    monkeypatch.setattr(programs, "linked_libraries", lambda _: libraries)
    assert (programs.find_linked_mpi(Path("program")) == Path("/lib", names[0])) == is_mpi


def test_a_digest_follows_its_file(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("one")
    first = programs.cached_sha256(file)
    assert programs.cached_sha256(file) == first
    replacement = tmp_path / "other"
    replacement.write_text("two")
    os.utime(replacement, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    replacement.replace(file)
    assert programs.cached_sha256(file) not in (first, None)
    assert programs.cached_sha256(tmp_path / "missing") is None


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
    site_variables = {"FI_PROVIDER"} | programs.assigned_variables(script)
    settings = programs.mpi_tuning_settings(site_variables, environ, tmp_path)
    assert settings == {"OMPI_MCA_btl_tcp_eager_limit": "64"}


def test_parameters_in_the_users_home(tmp_path: Path) -> None:
    file = tmp_path / ".openmpi" / "mca-params.conf"
    file.parent.mkdir()
    file.write_text("# nothing yet\n\n")
    assert programs.mpi_tuning_settings((), {}, tmp_path) == {}
    file.write_text("# mine\nbtl_tcp_sndbuf = 2048 # small\n  pml = ob1\n")
    parameters = "btl_tcp_sndbuf = 2048; pml = ob1"
    assert programs.mpi_tuning_settings((), {}, tmp_path) == {
        "~/.openmpi/mca-params.conf": parameters
    }
    file.unlink()
    file.mkdir()
    assert programs.mpi_tuning_settings((), {}, tmp_path) == {}, "MPI cannot read it either"


@given(content=st.binary(max_size=5000), value=st.text(max_size=5000))
def test_whatever_they_hold_is_short(tmp_path_factory: object, content: bytes, value: str) -> None:
    folder = tmp_path_factory.mktemp("home")  # type: ignore[attr-defined]
    (folder / ".pmix").mkdir()
    (folder / ".pmix" / "mca-params.conf").write_bytes(content)
    tuning = programs.mpi_tuning_settings((), {"UCX_LOG_FILE": value}, folder)
    assert all(len(text) <= 900 for text in tuning.values())
