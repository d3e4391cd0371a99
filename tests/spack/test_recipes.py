"""Recipes load against a stand-in for Spack's package API, and say what they must.

Those of the testbed extend Spack's own for the virtual cluster.
"""

import ast
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from support.json_files import replace_text

CHECKOUT = Path(__file__).parents[2]
REPOSITORY, TESTBED = (CHECKOUT / "spack_repo" / name for name in ("roundtrip", "testbed"))
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
def said(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...], Any]]:
    """What a recipe's directives said: (directive, arguments, keywords)."""
    calls: list[tuple[str, tuple[Any, ...], Any]] = []

    def directive(name: str) -> Callable[..., None]:
        return lambda *arguments, **keywords: calls.append((name, arguments, keywords))

    api = {name: directive(name) for name in DIRECTIVES}
    bases = {
        "build_systems.cmake": "CMakePackage",
        "build_systems.generic": "Package",
        "build_systems.makefile": "MakefilePackage",
        "packages.mvapich.package": "Mvapich",
    }
    builtin = {
        f"spack_repo.builtin.{module}": {name: Base, "generator": api["generator"]}
        for module, name in bases.items()
    }
    ours = "spack_repo.roundtrip"
    functions = {"which": lambda *_: None, "ancestor": lambda file, n: Path(file).parents[n - 1]}
    packages = {"spack.package": {**api, **functions}, **builtin}
    stand_in(monkeypatch, {**packages, ours: {}, f"{ours}.build_systems": {}})
    base = load(REPOSITORY / "build_systems" / "workloads.py")
    monkeypatch.setitem(sys.modules, f"{ours}.build_systems.workloads", base)
    return calls


def stand_in(monkeypatch: pytest.MonkeyPatch, modules: dict[str, dict[str, Any]]) -> None:
    """Let `modules` with these names be imported, below Spack's packages."""
    for module in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.packages"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    for module, names in modules.items():
        stub = ModuleType(module)
        vars(stub).update(names)
        monkeypatch.setitem(sys.modules, module, stub)


def load(recipe: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"recipe_{recipe.parent.name}", recipe)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recipe_class(name: str) -> Any:
    """The class of our recipe in the folder `name`."""
    module = load(REPOSITORY / "packages" / name / "package.py")
    return getattr(module, "".join(part.capitalize() for part in name.split("_")))


@pytest.mark.parametrize("repository", [REPOSITORY, TESTBED], ids=lambda folder: folder.name)
def test_the_repository_says_which_package_api_it_has(repository: Path) -> None:
    repo = yaml.safe_load((repository / "repo.yaml").read_text())["repo"]
    assert repo == {"namespace": repository.name, "api": "v2.2"}
    # Package API v2 wants spack_repo/<namespace>.
    assert repository.parent.name == "spack_repo"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
def test_a_recipe_is_named_after_its_folder_and_says_what_it_builds(
    recipe: Path, said: list[Any]
) -> None:
    """`spack info` and `spack list` show the first line of a docstring."""
    assert recipe_class(recipe.parent.name)
    tree = ast.parse(recipe.read_text())
    assert ast.get_docstring(next(n for n in tree.body if isinstance(n, ast.ClassDef)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            summary, *rest = text.splitlines()
            assert summary.endswith(".")
            assert not rest or not rest[0]


def test_recipes_have_the_licence_that_spack_takes_and_its_text() -> None:
    for recipe in CHECKOUT.glob("spack_repo/*/packages/*/package.py"):
        assert recipe.read_text().startswith(HEADER), f"{recipe} lacks the licence header"
    texts = [
        (CHECKOUT / "spack_repo" / f"LICENSE-{name}").read_text() for name in ("APACHE", "MIT")
    ]
    assert "Apache License" in texts[0]
    assert "Permission is hereby granted, free of charge" in texts[1]


def test_the_workloads_name_all_they_need_and_use_pvm_by_default(said: list[Any]) -> None:
    package = recipe_class("roundtrip_workloads")()
    dependencies = {arguments[0] for directive, arguments, _ in said if directive == "depends_on"}
    assert {"c", "cxx", "cmake@3.25:", "mpi@3:", "boost@1.74: +mpi +serialization"} <= dependencies
    assert ("version", ("main",), {"branch": "main"}) in said
    assert ("depends_on", ("pvm@3.4:",), {"when": "+pvm"}) in said
    (variant,) = [keywords for directive, name, keywords in said if name == ("pvm",)]
    assert variant["default"] is True
    package.spec = {"mpi": SimpleNamespace(mpicxx="/m/mpicxx"), "boost": SimpleNamespace(prefix="")}
    package.define = lambda name, value: f"-D{name}={value}"
    package.define_from_variant = lambda name, variant: f"-D{name}=<{variant}>"
    assert {"-DROUNDTRIP_PVM=<pvm>", "-DMPI_CXX_COMPILER=/m/mpicxx"} <= set(package.cmake_args())


@pytest.mark.parametrize("name", ["roundtrip", "roundtrip_npb", "roundtrip_ddtbench"])
def test_what_is_ours_is_fetched_from_the_checkout_of_its_recipe(
    said: list[Any], name: str
) -> None:
    assert recipe_class(name).git == CHECKOUT
    assert ("version", ("main",), {"branch": "main"}) in said


@pytest.mark.parametrize("name", ["npb", "ddtbench"])
def test_a_workload_alone_is_a_project_of_its_own_without_boost(said: list[Any], name: str) -> None:
    project = CHECKOUT / recipe_class(f"roundtrip_{name}").root_cmakelists_dir / "CMakeLists.txt"
    assert f"project(roundtrip-{name} " in project.read_text()
    dependencies = {arguments[0] for directive, arguments, _ in said if directive == "depends_on"}
    assert "mpi@3:" in dependencies
    assert not any("boost" in spec for spec in dependencies)


def test_mvapich_is_configured_for_the_pmi_that_the_site_asks_for(said: list[Any]) -> None:
    """The builtin's `--with-pmi=slurm` comes after it, wins, and is PMI-1."""
    recipe = recipe_class("mvapich")()
    calls = [call for call in said if call[0] == "variant"]
    variants = {arguments[0]: keywords for _, arguments, keywords in calls}
    assert variants["pmi_version"]["default"] == "none"
    assert "16" in variants["ch3_rank_bits"]["values"]
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
def test_an_upstream_program_is_built_by_the_wrappers_of_its_mpi(
    name: str, said: list[Any]
) -> None:
    recipe = recipe_class(name)()
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


def replace(old: str, new: str, file: str, string: bool) -> None:
    """Spack's `filter_file` for plain text; a text that is not there is a fault here."""
    assert string
    replace_text(Path(file), old, new)


@pytest.fixture
def extended(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Loads a recipe of the testbed, by the name of the package that it extends."""

    class Builtin:
        """Stands for the builtin recipe."""

        patches = {"": [SimpleNamespace(url="https://x/8e6d9ba8058a"), SimpleNamespace()]}
        dependencies = {"": {"automake": 1, "bison": 1}}

        def url_for_version(self, version: str) -> str:
            return f"https://authors.example/{version}"

        def flag_handler(self, name: str, flags: list[str]) -> tuple[Any, ...]:
            return flags, None, None

    functions = {
        **{name: lambda *_, **__: None for name in ("version", "depends_on", "conflicts")},
        "run_before": lambda _: lambda method: method,
        "join_path": lambda *parts: "/".join(parts),
        "filter_file": replace,
        "Spec": lambda text="": text,
    }
    builtin = {
        f"spack_repo.builtin.packages.{name}.package": {
            name.capitalize(): type("Builtin", (Builtin,), {})
        }
        for name in ("openmpi", "mpich", "boost", "mvapich2")
    }
    stand_in(monkeypatch, {"spack.package": functions, **builtin})

    def recipe(package: str) -> Any:
        module = load(TESTBED / "packages" / package / "package.py")
        return getattr(module, package.capitalize())

    return recipe


@pytest.mark.parametrize(
    ("package", "version", "file"),
    [
        ("openmpi", "4.1.4", "openmpi_4.1.4.orig.tar.xz"),
        ("mpich", "4.0.2", "mpich_4.0.2.orig.tar.xz"),
    ],
)
def test_only_debians_version_comes_from_debian(
    extended: Callable[[str], Any], package: str, version: str, file: str
) -> None:
    instance = extended(package)()
    assert instance.url_for_version(version).endswith(f"/{file}")
    assert instance.url_for_version("9.9") == "https://authors.example/9.9"


def test_open_mpi_drops_the_one_patch_and_keeps_the_others(extended: Callable[[str], Any]) -> None:
    assert [vars(patch) for patch in extended("openmpi").patches[""]] == [{}]


def test_mvapich2s_tcp_device_is_mended(
    extended: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two faults that end the compilation with GCC 12, in the lines where they are."""
    monkeypatch.chdir(tmp_path)
    tcp = tmp_path / "src/mpid/ch3/channels/nemesis/netmod/tcp"
    tcp.mkdir(parents=True)
    (tcp / "tcp_init.c").write_text("CHECK(mpierrno != 0, mpi_errno);\n")
    (tcp / "tcp_getip.c").write_text("char* ip[INET];\ninet_ntop(AF_INET, addr, ip);\n")

    extended("mvapich2")().patch()

    assert (tcp / "tcp_init.c").read_text() == "CHECK(mpi_errno != 0, mpi_errno);\n"
    expected = "char ip[INET];\ninet_ntop(AF_INET, &addr, ip);\n"
    assert (tcp / "tcp_getip.c").read_text() == expected


def test_mvapich2_defines_variables_once_for_new_compilers(extended: Callable[[str], Any]) -> None:
    recipe_class = extended("mvapich2")
    instance = recipe_class()
    instance.spec = SimpleNamespace(satisfies=lambda text: text == "%c=gcc@10:")
    assert instance.flag_handler("cflags", []) == (["-fcommon"], None, None)
    assert instance.flag_handler("fflags", []) == ([], None, None)
    assert recipe_class.dependencies[""] == {"bison": 1}
