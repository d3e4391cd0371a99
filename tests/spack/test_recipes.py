"""Recipes load against a stand-in for Spack's package API, and say what they must."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2] / "spack_repo" / "roundtrip"
RECIPES = sorted(REPOSITORY.glob("packages/*/package.py"))
DIRECTIVES = ("version", "variant", "depends_on", "conflicts", "generator", "license")


class Base:
    """Stands for every base class that a recipe names."""


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, tuple[Any, ...], Any]]]:
    """What a recipe's directives said: (directive, arguments, keywords)."""
    calls: list[tuple[str, tuple[Any, ...], Any]] = []

    def directive(name: str) -> Callable[..., None]:
        return lambda *arguments, **keywords: calls.append((name, arguments, keywords))

    api = ModuleType("spack.package")
    for name in DIRECTIVES:
        setattr(api, name, directive(name))
    api.which = lambda *_: None  # type: ignore[attr-defined]
    build = {
        "build_systems.cmake": ("CMakePackage",),
        "build_systems.generic": ("Package",),
        "packages.mvapich.package": ("Mvapich",),
    }
    for module, names in {
        f"spack_repo.builtin.{key}": value for key, value in build.items()
    }.items():
        fake = ModuleType(module)
        for name in names:
            setattr(fake, name, Base)
        fake.generator = directive("generator")  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module, fake)
    for module in ("spack", "spack_repo", "spack_repo.builtin"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    monkeypatch.setitem(sys.modules, "spack.package", api)
    yield calls


def load(recipe: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"recipe_{recipe.parent.name}", recipe)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_repository_says_which_package_api_it_speaks() -> None:
    repo = yaml.safe_load((REPOSITORY / "repo.yaml").read_text())["repo"]
    assert repo == {"namespace": "roundtrip", "api": "v2.2"}
    # Package API v2 wants spack_repo/<namespace>.
    assert (REPOSITORY.parent.name, REPOSITORY.name) == ("spack_repo", repo["namespace"])


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
def test_a_recipe_is_named_after_its_folder(recipe: Path, said: list[Any]) -> None:
    name = "".join(part.capitalize() for part in recipe.parent.name.split("_"))
    assert hasattr(load(recipe), name)
    classes = [n for n in ast.parse(recipe.read_text()).body if isinstance(n, ast.ClassDef)]
    assert ast.get_docstring(classes[0])


def test_the_workloads_name_all_they_need(said: list[Any]) -> None:
    load(REPOSITORY / "packages" / "roundtrip_workloads" / "package.py")
    needed = {arguments[0] for directive, arguments, _ in said if directive == "depends_on"}
    assert {"c", "cxx", "cmake@3.25:", "mpi@3:", "boost@1.74: +mpi +serialization"} <= needed
    assert ("version", ("main",), {"branch": "main"}) in said


def test_mvapich_declares_what_its_configure_step_reads(said: list[Any]) -> None:
    load(REPOSITORY / "packages" / "mvapich" / "package.py")
    variants = {
        arguments[0]: keywords for directive, arguments, keywords in said if directive == "variant"
    }
    assert variants["pmi_version"]["default"] == "none"
    assert "16" in variants["ch3_rank_bits"]["values"]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
def test_no_checksum_is_made_up(recipe: Path, said: list[Any]) -> None:
    """None of these sources was fetched and checked, so none may carry a checksum."""
    load(recipe)
    for directive, _, keywords in said:
        assert directive != "version" or "sha256" not in keywords
