"""The recipes that extend Spack's own for the virtual cluster, against a stand-in for its API."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
REPOSITORY = CHECKOUT / "spack_repo" / "testbed"
NAMES = ("openmpi", "mpich", "boost", "mvapich2")


def replace(old: str, new: str, file: str, string: bool) -> None:
    """Spack's `filter_file` for plain text; a text that is not there is a fault here."""
    assert string
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    class Base:
        """Stands for the builtin recipe."""

        patches = {"": [SimpleNamespace(url="https://x/8e6d9ba8058a"), SimpleNamespace()]}
        dependencies = {"": {"automake": 1, "bison": 1}}

        def url_for_version(self, version: str) -> str:
            return f"https://authors.example/{version}"

        def flag_handler(self, name: str, flags: list[str]) -> tuple[Any, ...]:
            return flags, None, None

    api = ModuleType("spack.package")
    for name in ("version", "depends_on", "conflicts"):
        setattr(api, name, lambda *_, **__: None)
    functions = {
        "run_before": lambda _: lambda method: method,
        "join_path": lambda *parts: "/".join(parts),
        "filter_file": replace,
        "Spec": lambda text="": text,
    }
    for name, value in functions.items():
        setattr(api, name, value)
    monkeypatch.setitem(sys.modules, "spack.package", api)
    for package in NAMES:
        stub = ModuleType(package)
        setattr(stub, package.capitalize(), type("Builtin", (Base,), {}))
        name = f"spack_repo.builtin.packages.{package}.package"
        monkeypatch.setitem(sys.modules, name, stub)
    for module in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.packages"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    yield api


def recipe(package: str) -> Any:
    file = REPOSITORY / "packages" / package / "package.py"
    spec = importlib.util.spec_from_file_location(f"testbed_{package}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, package.capitalize())


def test_the_repository_says_which_package_api_it_has() -> None:
    repo = yaml.safe_load((REPOSITORY / "repo.yaml").read_text())["repo"]
    assert repo == {"namespace": "testbed", "api": "v2.2"}


@pytest.mark.parametrize(
    ("package", "version", "file"),
    [
        ("openmpi", "4.1.4", "openmpi_4.1.4.orig.tar.xz"),
        ("mpich", "4.0.2", "mpich_4.0.2.orig.tar.xz"),
    ],
)
def test_only_debians_version_comes_from_debian(
    api: ModuleType, package: str, version: str, file: str
) -> None:
    instance = recipe(package)()
    assert instance.url_for_version(version).endswith(f"/{file}")
    assert instance.url_for_version("9.9") == "https://authors.example/9.9"


def test_open_mpi_drops_the_one_patch_and_keeps_the_others(api: ModuleType) -> None:
    assert [vars(patch) for patch in recipe("openmpi").patches[""]] == [{}]


def test_mvapich2s_tcp_device_is_mended(
    api: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two faults that end the compilation with GCC 12, in the lines where they are."""
    monkeypatch.chdir(tmp_path)
    tcp = tmp_path / "src/mpid/ch3/channels/nemesis/netmod/tcp"
    tcp.mkdir(parents=True)
    (tcp / "tcp_init.c").write_text("CHECK(mpierrno != 0, mpi_errno);\n")
    (tcp / "tcp_getip.c").write_text("char* ip[INET];\ninet_ntop(AF_INET, addr, ip);\n")

    recipe("mvapich2")().patch()

    assert (tcp / "tcp_init.c").read_text() == "CHECK(mpi_errno != 0, mpi_errno);\n"
    expected = "char ip[INET];\ninet_ntop(AF_INET, &addr, ip);\n"
    assert (tcp / "tcp_getip.c").read_text() == expected


def test_mvapich2_defines_its_variables_once_for_new_compilers(api: ModuleType) -> None:
    recipe_class = recipe("mvapich2")
    instance = recipe_class()
    instance.spec = SimpleNamespace(satisfies=lambda text: text == "%c=gcc@10:")
    assert instance.flag_handler("cflags", []) == (["-fcommon"], None, None)
    assert instance.flag_handler("fflags", []) == ([], None, None)
    assert recipe_class.dependencies[""] == {"bison": 1}
