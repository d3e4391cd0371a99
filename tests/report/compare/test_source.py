"""What a user may name, and the error when it is not there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report.compare.conftest import OPENMPI

from roundtrip.errors import UserError
from roundtrip.measure import bundle
from roundtrip.report import publish
from roundtrip.report.compare.side import Sources, parse_spec

Tree = Callable[..., Any]


@pytest.mark.parametrize(
    ("spec", "source", "selection"),
    [
        ("reports/x", "reports/x", {}),
        ("a/b/2026-01-02:toolchain=x", "a/b/2026-01-02", {"toolchain": "x"}),
        ("r1:boost=1.81,site=local", "r1", {"boost": "1.81", "site": "local"}),
        ("odd:name", "odd:name", {}),
    ],
)
def test_a_selector_follows_the_colon(spec: str, source: str, selection: dict[str, str]) -> None:
    assert parse_spec(spec) == (source, selection)


LEGAL = r"selects nothing; legal are toolchain=\.\.\., mpi="


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        *((spec, LEGAL) for spec in ("x:colour=red", "x:toolchain=", "x:boost=1,2")),
        ("x:toolchain=a,check=b,toolchain=c", "toolchain stands twice; right is one value"),
    ],
)
def test_a_wrong_selector_fails(spec: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        parse_spec(spec)


def test_tree_bundle_and_night_are_one_side(tree: Tree, sources: Sources, tmp_path: Path) -> None:
    path = tree().path
    bundle_path = bundle.build_bundle(path)
    revision = publish.publish(bundle_path, tmp_path / "reports")
    night = "local/synthetic/2026-11-21"
    specs = [path, bundle_path, revision, revision / "bundle", night, f"{night}/{revision.name}"]
    digests = {sources.side(str(spec)).data.manifest.digest for spec in specs}
    assert len(digests) == 1


def test_the_newest_revision_is_taken(tree: Tree, sources: Sources, tmp_path: Path) -> None:
    first_bundle = bundle.build_bundle(tree("one", seed=1).path)
    first_revision = publish.publish(first_bundle, tmp_path / "reports")
    newest_revision = first_revision.with_name("r2")
    newest_revision.mkdir()
    bundle.build_bundle(tree("other", seed=2).path).rename(newest_revision / "bundle")
    night = str(Path("local") / "synthetic" / first_revision.parent.name)
    digest = sources.side(night).data.manifest.digest
    assert digest == sources.side(str(newest_revision)).data.manifest.digest
    assert digest != sources.side(str(first_revision)).data.manifest.digest


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("nowhere", "there is no such report, bundle or run tree"),
        ("local/smoke/2020-01-01", "there is no such report"),
        (".", "neither a report, a bundle nor a run tree"),
    ],
)
def test_what_is_not_there_fails(spec: str, complaint: str, sources: Sources) -> None:
    with pytest.raises(UserError, match=complaint):
        sources.side(spec)


def test_a_selector_that_chooses_nothing_says_what_there_is(tree: Tree, sources: Sources) -> None:
    side = sources.side(f"{tree().path}:toolchain=nope")
    with pytest.raises(UserError, match=rf"no launch with toolchain=nope.*{OPENMPI}"):
        _ = side.cases
