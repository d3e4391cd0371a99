"""``roundtrip collect``: the bundle of a run, whose path is all that it prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from roundtrip.cli import app, share
from roundtrip.measure import manifest


def test_the_one_line_names_a_bundle_that_holds(make_tree: Callable[..., Any]) -> None:
    assert share  # it is known to the app once it is imported
    tree = make_tree(launches=2)
    result = CliRunner().invoke(app, ["collect", str(tree.path)])
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    bundle = Path(line.removeprefix("bundle: "))
    assert bundle.parent == tree.path / "bundles"
    assert manifest.verify(bundle).data["campaign"] == "synthetic"
