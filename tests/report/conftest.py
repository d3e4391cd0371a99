"""Published nights and a browser as fixtures."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser, open_browser
from support.bundles import Publisher

from roundtrip.measure import bundle
from roundtrip.report import publish


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    return tmp_path / "reports"


@pytest.fixture
def night(make_tree: Callable[..., Any], reports: Path) -> Publisher:
    """A function that publishes one more night as far as its pages are concerned."""
    return Publisher(make_tree, reports)


@pytest.fixture
def revision(make_tree: Callable[..., Any], reports: Path) -> Path:
    """A published night of NetPIPE on two toolchains."""
    return publish.publish(bundle.build_bundle(make_tree(launches=6, steady=True).path), reports)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as session:
        yield session
