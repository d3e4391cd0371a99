"""The real Spack, where there is one, and a copy of the checkout for it to write into."""

import shutil
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.sites import software
from roundtrip.sites.software import SpackCommand

CHECKOUT = Path(__file__).parents[2]
GET = (
    "git clone --depth=2 -b v1.1.0 https://github.com/spack/spack.git ~/spack && "
    "export SPACK_ROOT=~/spack"
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "real" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session")
def real() -> SpackCommand:
    try:
        spack = software.find_spack()
    except UserError as error:
        pytest.skip(f"no usable Spack: {error}")
    if spack is None:
        pytest.skip(f"needs Spack 1.1 or newer: {GET}")
    return spack


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy: Spack writes its lock file and view beside spack.yaml."""
    for part in ("spack_repo", "site-configs"):
        shutil.copytree(CHECKOUT / part, tmp_path / part, symlinks=True)
    shutil.copyfile(CHECKOUT / "spack.yaml", tmp_path / "spack.yaml")
    (tmp_path / "workloads").mkdir()
    return tmp_path
