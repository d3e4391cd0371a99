"""Public docstrings say what a thing is, when it raises UserError, and which columns frames have.

Public is what has no leading underscore in its name or in a name around it.  A property needs no
docstring, nor does a method that a documented base class declares.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
PACKAGES = (CHECKOUT / "src" / "roundtrip", CHECKOUT / "tools")
#: Classes whose documented methods others carry out.
BASES = {"Study", "Section", "Claim", "Progress", "Scheduler"}
#: Words of a docstring that says what a frame holds.
_SHAPE = ("column", "rows", "schema")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@cache
def modules() -> dict[str, ast.Module]:
    """Syntax tree of each module, by its path in the checkout."""
    files = sorted(file for package in PACKAGES for file in package.rglob("*.py"))
    return {str(file.relative_to(CHECKOUT)): ast.parse(file.read_text()) for file in files}


@cache
def inherited() -> frozenset[str]:
    """Names of the methods that the bases declare."""
    nodes = (node for tree in modules().values() for node in ast.walk(tree))
    bases = (node for node in nodes if isinstance(node, ast.ClassDef) and node.name in BASES)
    return frozenset(
        node.name for base in bases for node in base.body if isinstance(node, Function)
    )


def public(body: list[ast.stmt]) -> Iterator[Definition]:
    """Public definitions of a module, and of its public classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


def needs_none(node: Definition) -> bool:
    names = {
        getattr(decorator, "id", getattr(decorator, "attr", ""))
        for decorator in node.decorator_list
    }
    return bool(names & {"property", "cached_property"}) or node.name in inherited()


@cache
def makers() -> frozenset[str]:
    """UserError, and the functions that make one."""
    nodes = (node for tree in modules().values() for node in ast.walk(tree))
    functions = (node for node in nodes if isinstance(node, Function) and node.returns)
    names = (node.name for node in functions if ast.unparse(node.returns or node) == "UserError")
    return frozenset({"UserError", *names})


def refuses(node: ast.AST) -> bool:
    """Whether a statement in `node` raises UserError."""
    exceptions = (
        statement.exc
        for statement in ast.walk(node)
        if isinstance(statement, ast.Raise) and statement.exc
    )
    return any(
        isinstance(exc, ast.Call) and ast.unparse(exc.func).split(".")[-1] in makers()
        for exc in exceptions
    )


def uncaught(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node, but the bodies of `try` whose handlers take UserError."""
    yield node
    for child in ast.iter_child_nodes(node):
        handlers = node.handlers if isinstance(node, ast.Try) else []
        catches = any(
            "UserError" in ast.unparse(handler.type) for handler in handlers if handler.type
        )
        if not (catches and isinstance(node, ast.Try) and child in node.body):
            yield from uncaught(child)


def called(node: ast.AST) -> set[str]:
    """Private functions and methods of the same module that `node` calls, UserError not caught."""
    callees = (child.func for child in uncaught(node) if isinstance(child, ast.Call))
    names = {getattr(func, "id", getattr(func, "attr", "")) for func in callees}
    return {name for name in names if name.startswith("_")}


def refusing(tree: ast.Module) -> set[str]:
    """Private functions of a module that raise UserError, themselves or by one that they call."""
    private = [
        node for node in ast.walk(tree) if isinstance(node, Function) and node.name.startswith("_")
    ]
    names = {node.name for node in private if refuses(node)}
    while callers := {node.name for node in private if called(node) & names} - names:
        names |= callers
    return names


def faults(module: str, tree: ast.Module) -> Iterator[str]:
    helpers = refusing(tree)
    for node in public(tree.body):
        place = f"{module}:{node.lineno} {node.name}"
        text = ast.get_docstring(node) or ""
        if not text and not needs_none(node):
            yield f"{place} has no docstring"
        if isinstance(node, ast.ClassDef):
            continue
        is_documented = (
            "UserError" in text or "2 bad input" in text
        )  # as the help of a command says it
        if (refuses(node) or called(node) & helpers) and not is_documented:
            yield f"{place} raises UserError and does not say so"
        return_type = ast.unparse(node.returns) if node.returns else ""
        if text and "Frame" in return_type and not any(word in text.lower() for word in _SHAPE):
            yield f"{place} does not say which columns its frame has"


def folders() -> list[str]:
    return sorted({str(Path(module).parent) for module in modules()})


@pytest.mark.parametrize("folder", folders())
def test_docstrings_of_a_folder(folder: str) -> None:
    trees = {name: tree for name, tree in modules().items() if str(Path(name).parent) == folder}
    problems = [fault for name, tree in trees.items() for fault in faults(name, tree)]
    problems += [
        f"{name} has no docstring" for name, tree in trees.items() if not _has_docstring(tree)
    ]
    assert problems == []


def _has_docstring(tree: ast.Module) -> bool:
    return bool(ast.get_docstring(tree)) or not tree.body
