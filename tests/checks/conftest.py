"""A machine whose toolchains are folders without programs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roundtrip.measure import campaign_file, matrix
from roundtrip.sites.site import Site

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of its `toolchains` and `runs`."""
    folder = tmp_path_factory.mktemp("machine")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("toolchains", "runs"):
            patch.setenv(f"ROUNDTRIP_{name.upper()}", str(folder / name))
        for name in ("NPB", "OSU"):
            patch.delenv(f"ROUNDTRIP_{name}", raising=False)
        yield folder


@pytest.fixture(scope="module")
def install(machine: Path) -> Callable[..., None]:
    """A function that installs toolchains by name."""

    def install(*names: str) -> None:
        for name in names:
            folder = machine / "toolchains" / name
            folder.mkdir(parents=True)
            (folder / "toolchain.json").write_text("{}")

    return install


@pytest.fixture(scope="module")
def plan(machine: Path) -> Callable[[str, str], matrix.Matrix]:
    """A function that builds the matrix of a campaign, given its file's text, on a site."""

    def plan(text: str, site: str) -> matrix.Matrix:
        file = machine / "campaign.toml"
        file.write_text(text)
        return matrix.build_matrix(campaign_file.load_campaign(file), Site(site, CHECKOUT))

    return plan
