"""Modules and packages import each other one way, and checks use names that exist."""

import ast
import importlib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[1] / "src"
FILES = {
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): file
    for file in SOURCE.rglob("*.py")
    if "template" not in file.parts
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


def test_no_packages_import_each_other_in_a_circle() -> None:
    def package(name: str) -> str:
        return [*name.split("."), ""][1]

    graph: dict[str, set[str]] = {}
    for module, dependencies in GRAPH.items():
        packages = {package(dependency) for dependency in dependencies} - {package(module)}
        graph.setdefault(package(module), set()).update(packages)
    assert {"measure", "history"} <= graph["content"] and "content" in graph["report"]
    assert list(TopologicalSorter(graph).static_order())


#: Files that mypy does not check, because ReFrame has no types.
UNTYPED_FILES = sorted(
    file for folder in ("checks", "reframe") for file in (SOURCE.parent / folder).rglob("*.py")
)


def missing_names(tree: ast.Module) -> Iterator[str]:
    """Names that a file imports from the package, or uses of its modules, and that do not exist."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("roundtrip"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in FILES:
                    modules[alias.asname or alias.name] = importlib.import_module(name)
                elif not hasattr(module, alias.name):
                    yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used = modules.get(node.value.id)
            if isinstance(used, ModuleType) and not hasattr(used, node.attr):
                yield f"{used.__name__}.{node.attr}"


@pytest.mark.parametrize("file", UNTYPED_FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_the_names_that_a_check_uses_exist(file: Path) -> None:
    assert list(missing_names(ast.parse(file.read_text()))) == []


def test_a_name_that_does_not_exist_is_found() -> None:
    text = (
        "from roundtrip.measure import identity, nothing\nidentity.read_allocation, identity.gone"
    )
    missing = ["roundtrip.measure.nothing", "roundtrip.measure.identity.gone"]
    assert list(missing_names(ast.parse(text))) == missing
