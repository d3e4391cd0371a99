"""Recipes load against a stand-in for Spack's package API, and say what they must."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
REPOSITORY = CHECKOUT / "spack_repo" / "roundtrip"
HEADER = """\
# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

"""
RECIPES = sorted(REPOSITORY.glob("packages/*/package.py"))
DIRECTIVES = ("version", "variant", "depends_on", "conflicts", "generator", "license")


class Base:
    """Stands for every base class that a recipe names."""

    #: As the builtin recipe of MVAPICH has it for srun.
    process_manager_options = ("--with-pm=none", "--with-pmi=slurm")


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
        "build_systems.makefile": ("MakefilePackage",),
        "packages.mvapich.package": ("Mvapich",),
    }
    for module, names in {
        f"spack_repo.builtin.{key}": value for key, value in build.items()
    }.items():
        stub = ModuleType(module)
        for name in names:
            setattr(stub, name, Base)
        stub.generator = directive("generator")  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module, stub)
    for module in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.roundtrip"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    monkeypatch.setitem(sys.modules, "spack.package", api)
    prefix = "spack_repo.roundtrip.build_systems"
    monkeypatch.setitem(sys.modules, prefix, ModuleType(prefix))
    base = load(REPOSITORY / "build_systems" / "workloads.py")
    monkeypatch.setitem(sys.modules, f"{prefix}.workloads", base)
    yield calls


def load(recipe: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"recipe_{recipe.parent.name}", recipe)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_repository_says_which_package_api_it_has() -> None:
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


def test_recipes_have_the_licence_that_spack_takes_and_its_text() -> None:
    for recipe in CHECKOUT.glob("spack_repo/*/packages/*/package.py"):
        assert recipe.read_text().startswith(HEADER), f"{recipe} lacks the licence header"
    texts = [
        (CHECKOUT / "spack_repo" / f"LICENSE-{name}").read_text() for name in ("APACHE", "MIT")
    ]
    assert "Apache License" in texts[0]
    assert "Permission is hereby granted, free of charge" in texts[1]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
def test_a_recipe_says_what_it_builds_in_one_line_first(recipe: Path) -> None:
    """`spack info` and `spack list` show it."""
    for node in ast.walk(ast.parse(recipe.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            summary, *rest = text.splitlines()
            assert summary.endswith(".")
            assert not rest or not rest[0]


def test_the_workloads_name_all_they_need(said: list[Any]) -> None:
    load(REPOSITORY / "packages" / "roundtrip_workloads" / "package.py")
    dependencies = {arguments[0] for directive, arguments, _ in said if directive == "depends_on"}
    assert {"c", "cxx", "cmake@3.25:", "mpi@3:", "boost@1.74: +mpi +serialization"} <= dependencies
    assert ("version", ("main",), {"branch": "main"}) in said


def test_the_workloads_use_pvm_by_default(said: list[Any]) -> None:
    recipe = load(REPOSITORY / "packages" / "roundtrip_workloads" / "package.py")
    assert ("depends_on", ("pvm@3.4:",), {"when": "+pvm"}) in said
    (variant,) = [keywords for directive, name, keywords in said if name == ("pvm",)]
    assert variant["default"] is True
    package = recipe.RoundtripWorkloads()
    package.spec = {"mpi": SimpleNamespace(mpicxx="/m/mpicxx"), "boost": SimpleNamespace(prefix="")}
    package.define = lambda name, value: f"-D{name}={value}"
    package.define_from_variant = lambda name, variant: f"-D{name}=<{variant}>"
    assert {"-DROUNDTRIP_PVM=<pvm>", "-DMPI_CXX_COMPILER=/m/mpicxx"} <= set(package.cmake_args())


@pytest.mark.parametrize("name", ["npb", "ddtbench"])
def test_a_workload_alone_is_a_project_of_its_own_without_boost(said: list[Any], name: str) -> None:
    recipe = load(REPOSITORY / "packages" / f"roundtrip_{name}" / "package.py")
    package = getattr(recipe, f"Roundtrip{name.capitalize()}")
    project = CHECKOUT / package.root_cmakelists_dir / "CMakeLists.txt"
    assert f"project(roundtrip-{name} " in project.read_text()
    dependencies = {arguments[0] for directive, arguments, _ in said if directive == "depends_on"}
    assert "mpi@3:" in dependencies
    assert not any("boost" in spec for spec in dependencies)


def test_mvapich_declares_what_its_configure_step_reads(said: list[Any]) -> None:
    load(REPOSITORY / "packages" / "mvapich" / "package.py")
    variants = {
        arguments[0]: keywords for directive, arguments, keywords in said if directive == "variant"
    }
    assert variants["pmi_version"]["default"] == "none"
    assert "16" in variants["ch3_rank_bits"]["values"]


def test_mvapich_is_configured_for_the_pmi_that_the_site_asks_for(said: list[Any]) -> None:
    """The builtin's `--with-pmi=slurm` comes after it, wins, and is PMI-1."""
    recipe = load(REPOSITORY / "packages" / "mvapich" / "package.py").Mvapich()
    assert recipe.process_manager_options == ["--with-pm=none"]
    for part in (CHECKOUT / "site-configs").glob("*/spack/packages.yaml"):
        (requirement,) = yaml.safe_load(part.read_text())["packages"]["mvapich"]["require"]
        assert ("process_managers=slurm" in requirement) == ("pmi_version=pmi2" in requirement)


#: Of Debian's signed netpipe_3.7.2-8.dsc; the commit that imports DDTBench 1.2 unchanged.
KNOWN = {
    "netpipe": {"sha256": "13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8"},
    "ddtbench": {"commit": "7f145f74efe4a23c877e2e17ac1aea471a88269f"},
}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
def test_a_source_is_pinned_to_what_was_verified(recipe: Path, said: list[Any]) -> None:
    load(recipe)
    versions = [keywords for directive, _, keywords in said if directive == "version"]
    pins = [kw for kw in versions if {"sha256", "commit"} & set(kw)]
    expected = KNOWN.get(recipe.parent.name)
    assert pins == ([expected] if expected else [])


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_an_upstream_program_is_built_with_the_wrappers_of_its_mpi(
    name: str, said: list[Any]
) -> None:
    recipe = getattr(load(REPOSITORY / "packages" / name / "package.py"), name.capitalize())()
    mpi = SimpleNamespace(mpicc="/mpi/bin/mpicc", mpifc="/mpi/bin/mpifort")
    recipe.spec = Spec({"mpi": mpi}, fortran=True)
    assert any(target.endswith("CC=/mpi/bin/mpicc") for target in recipe.build_targets)


class Spec(dict[str, SimpleNamespace]):
    """As much of a concrete spec as the recipes ask."""

    def __init__(self, packages: dict[str, SimpleNamespace], fortran: bool) -> None:
        super().__init__(packages)
        self._fortran = fortran

    def satisfies(self, text: str) -> bool:
        return self._fortran and text.startswith("+fortran")
