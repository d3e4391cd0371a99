"""State of the session's own, run trees as a fixture; no deadlines, which would test a machine."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support.synthetic import SyntheticTree
from support.virtual import VirtualCluster, booted_cluster

# Tests run beside each other: threads of theirs that wait for each other would only take processor
# time.  It is read when numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("COLUMNS", None)  # pytest-xdist sets it; tables shall be as wide as in a pipe

pytest_plugins = ["support.costs", "support.software", "support.tiers"]

settings.register_profile("roundtrip", deadline=None)
settings.load_profile("roundtrip")


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Campaigns of tests neither wait for those of the user nor keep them out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def virtual_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    """2 + 2 nodes and a WAN, booted once, for all tests that leave them as they were."""
    with booted_cluster(tmp_path_factory, "tests") as cluster:
        yield cluster


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[..., SyntheticTree]:
    """A function that writes a small run tree; its arguments are those of `Tree`."""

    def make(name: str = "run", **settings: Any) -> SyntheticTree:
        tree_settings = {"sizes": [1, 64, 1024, 65536, 1 << 20], "samples": 5, **settings}
        return SyntheticTree(tmp_path / name, **tree_settings).write()

    return make
