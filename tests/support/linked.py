"""A program that links a shared library, both built on the spot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A program that links a library libmpi.so.40 by a path that it knows."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler: apt-get install gcc")
    library, program = tmp_path / "lib" / "libmpi.so.40.1", tmp_path / "program"
    library.parent.mkdir()
    (tmp_path / "mpi.c").write_text("int answer(void) { return 0; }\n")
    (tmp_path / "main.c").write_text("int answer(void);\nint main(void) { return answer(); }\n")
    options = ["-shared", "-Wl,-soname,libmpi.so.40", tmp_path / "mpi.c"]
    subprocess.run(["cc", *options, "-o", library], check=True)
    (library.parent / "libmpi.so.40").symlink_to(library.name)
    path = f"-Wl,--enable-new-dtags,-rpath,{library.parent}"
    subprocess.run(["cc", tmp_path / "main.c", library, path, "-o", program], check=True)
    return program
