"""State of the session's own, run trees as a fixture; no deadlines, which would test a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support.synthetic import Tree

settings.register_profile("roundtrip", deadline=None)
settings.load_profile("roundtrip")


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Campaigns of tests neither wait for those of the user nor keep them out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[..., Tree]:
    """A function that writes a small run tree; its arguments are those of `Tree`."""

    def make(name: str = "run", **settings: Any) -> Tree:
        small = {"sizes": [1, 64, 1024, 65536, 1 << 20], "samples": 5, **settings}
        return Tree(tmp_path / name, **small).write()

    return make
