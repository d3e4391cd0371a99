"""Modules of the package import each other one way, and no two packages more than are known to."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
FILES = {
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): file
    for file in SOURCE.rglob("*.py")
    if "template" not in file.parts
}
#: Packages that import each other.  This may become shorter.
MUTUAL = {
    ("cause", "report"),
    ("measure", "studies"),
    ("report", "studies"),
}


def imports(name: str) -> set[str]:
    """Modules of the package that one imports: when it loads, for its types, or in functions."""
    dependencies = set()
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("roundtrip"):
            modules = {f"{node.module}.{alias.name}" for alias in node.names}
            dependencies |= {module if module in FILES else str(node.module) for module in modules}
    return dependencies - {name}


GRAPH = {name: imports(name) for name in FILES}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert len(GRAPH) > 100
    assert list(TopologicalSorter(GRAPH).static_order())


def test_no_more_pairs_import_each_other() -> None:
    def package(name: str) -> str:
        return [*name.split("."), ""][1]

    pairs = {
        (package(module), package(dependency))
        for module, dependencies in GRAPH.items()
        for dependency in dependencies
    }
    mutual_pairs = {(one, other) for one, other in pairs if one < other and (other, one) in pairs}
    assert mutual_pairs == MUTUAL
