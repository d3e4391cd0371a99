"""What the real Spack says of the environment, the recipes and their style, where there is one."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.programs import CHECKOUT, copy_tracked, run_git

from roundtrip.sites import lock as locks
from roundtrip.sites.software import SpackCommand, check_spack_schema

SITES = ("infiniband", "roce", "spack")
#: Prints how many packages Spack considers for the roots that its arguments name.
CONSIDERED = """
import sys
import spack.deptypes, spack.environment
from spack.solver.input_analysis import create_graph_analyzer
spack.environment.activate(spack.environment.Environment(sys.argv[1]))
found = create_graph_analyzer().possible_dependencies(
    *sys.argv[2:], allowed_deps=spack.deptypes.ALL)
print("CONSIDERED", len(found.real_pkgs))
"""


def run(real: SpackCommand, checkout: Path, *arguments: str, site: str = "infiniband") -> str:
    part = checkout / "site-configs" / site / "spack"
    process = subprocess.run(
        [real.command, "-e", checkout, *arguments],
        env={**os.environ, "ROUNDTRIP_SITE_SPACK": str(part)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr + process.stdout
    return process.stdout


@pytest.mark.parametrize("site", SITES)
def test_files_fit_spacks_own_schema(real: SpackCommand, site: str) -> None:
    (finding,) = check_spack_schema(
        CHECKOUT / "site-configs" / site / "spack", CHECKOUT / "spack.yaml"
    )
    assert finding.verdict == "ok", finding.detail


def test_spacks_schema_refuses_a_misspelt_key(real: SpackCommand, tmp_path: Path) -> None:
    (tmp_path / "concretizer.yaml").write_text("concretizer:\n  unifi: false\n")
    (finding,) = check_spack_schema(tmp_path, CHECKOUT / "spack.yaml")
    assert finding.verdict == "fault"
    assert "unifi" in finding.detail


def test_recipes_are_listed_and_pass_spacks_audit(real: SpackCommand, checkout: Path) -> None:
    names = sorted(
        path.parent.name.replace("_", "-")
        for path in CHECKOUT.glob("spack_repo/roundtrip/packages/*/package.py")
    )
    assert run(real, checkout, "list", "-r", "roundtrip").split() == names
    for audit in (["packages", *names], ["externals", *names], ["configs"]):
        verdicts = re.findall(r"^[A-Z-]+: (.*)", run(real, checkout, "audit", *audit), re.MULTILINE)
        assert verdicts
        assert set(verdicts) == {"passed"}


def test_spacks_audit_refuses_a_recipe_with_a_variant_that_it_does_not_have(
    real: SpackCommand, checkout: Path
) -> None:
    recipe = checkout / "spack_repo/roundtrip/packages/netpipe/package.py"
    recipe.write_text(recipe.read_text() + '    depends_on("mpi", when="+nonsense")\n')
    with pytest.raises(AssertionError, match="variant nonsense does not exist in netpipe"):
        run(real, checkout, "audit", "packages", "netpipe")


@pytest.mark.parametrize("site", SITES)
def test_the_site_is_included(real: SpackCommand, checkout: Path, site: str) -> None:
    packages = run(real, checkout, "config", "get", "packages", site=site)
    expected = "fabrics=none" if site == "spack" else "fabrics=ucx"
    assert expected in packages


@pytest.mark.parametrize("site", SITES)
def test_what_is_unused_is_not_considered(
    real: SpackCommand, checkout: Path, tmp_path: Path, site: str
) -> None:
    """They are what concretization costs: some 600 packages for the 70 that roots are made of."""
    script = tmp_path / "considered.py"
    script.write_text(CONSIDERED)
    roots = ["roundtrip-workloads", "osu-micro-benchmarks", "npb", "netpipe", "ddtbench"]
    output = run(real, checkout, "python", str(script), str(checkout), *roots, site=site)
    assert int(output.split("CONSIDERED ")[1]) < 100


def test_one_toolchain_concretizes_as_required(real: SpackCommand, checkout: Path) -> None:
    spec = "roundtrip-workloads@main ^boost@1.86.0+mpi+serialization cxxstd=17 ^mpich@4.3"
    output = run(real, checkout, "spec", *spec.split())
    (mpich_line,) = [line for line in output.splitlines() if "^mpich@" in line]
    for word in ("device=ch4", "netmod=ucx", "pmi=pmi2", "datatype-engine=auto", "x86_64_v3"):
        assert word in mpich_line


def test_the_whole_matrix_concretizes_in_three_minutes_to_one_build_of_each_mpi(
    real: SpackCommand, checkout: Path
) -> None:
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(real, checkout, "concretize")
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    lock = locks.read_lock(checkout / "spack.lock")
    assert len(lock.roots) == 26
    assert len(lock.mpi_by_hash) == 5
    assert locks.describe_extra_builds(lock) == []
    assert locks.describe_mixed_targets(lock) == []
    assert end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime < 180


#: The Python here instead of one that Spack builds.
INSTALLED = """
spack:
  specs: [roundtrip@main]
  repos: {{roundtrip: {source}/spack_repo/roundtrip}}
  view: {view}
  config: {{install_tree: {{root: {root}}}}}
  packages:
    python:
      buildable: false
      externals: [{{spec: python@{version}, prefix: {prefix}}}]
"""


def test_spack_installs_the_command_from_the_checkout_of_its_recipe(
    real: SpackCommand, tmp_path: Path
) -> None:
    copy_tracked(tmp_path / "source")
    run_git(tmp_path / "source", "init", "--quiet", "--initial-branch=main")
    run_git(tmp_path / "source", "add", "--all", "--force")
    run_git(tmp_path / "source", "commit", "--quiet", "--message=x")
    places = {name: tmp_path / name for name in ("source", "view", "root")}
    version = ".".join(map(str, sys.version_info[:3]))
    text = INSTALLED.format(**places, version=version, prefix=sys.base_prefix)
    (tmp_path / "spack.yaml").write_text(text)
    run(real, tmp_path, "install")
    program = tmp_path / "view" / "bin" / "roundtrip"
    process = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert process.stdout.startswith("roundtrip ")


REPOSITORY = CHECKOUT / "spack_repo" / "roundtrip"
RECIPES = sorted(
    [*REPOSITORY.glob("packages/*/package.py"), *REPOSITORY.glob("build_systems/w*.py")]
)
#: What `spack style` runs besides its own check of imports, as Spack's own CI has them.
TOOLS = {"isort": "6.0.1", "black": "25.1.0", "flake8": "7.2.0"}


@pytest.fixture(scope="session")
def search() -> str:
    """The PATH where the tools are found."""
    python_bin = Path(sys.executable).parent
    spack_bin = Path(os.environ.get("SPACK_PYTHON", sys.executable)).parent
    search = os.pathsep.join([str(spack_bin), str(python_bin), os.environ["PATH"]])
    if any(shutil.which(tool, path=search) is None for tool in TOOLS):
        requirements = " ".join(f"{name}=={version}" for name, version in TOOLS.items())
        pytest.skip(f"`spack style` needs its tools: {python_bin}/pip install {requirements}")
    return search


def style(
    real: SpackCommand, search: str, folder: Path, recipe: str
) -> subprocess.CompletedProcess[str]:
    """`spack style` on `recipe` under the name by which it knows a recipe outside of its tree."""
    file = folder / "one-ci-package.py"
    file.write_text(recipe)
    return subprocess.run(
        [real.command, "style", "--tool", ",".join(["import", *TOOLS]), file],
        env={**os.environ, "PATH": search},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "recipe", RECIPES, ids=lambda recipe: f"{recipe.parent.name}/{recipe.name}"
)
def test_a_recipe_has_spacks_style(
    real: SpackCommand, search: str, tmp_path: Path, recipe: Path
) -> None:
    process = style(real, search, tmp_path, recipe.read_text())
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.count("checks were clean") == 1 + len(TOOLS) + 1


@pytest.mark.parametrize(
    ("source", "tool"),
    [
        ("from spack.package import *\nimport re\n\nre.escape('a')\n", "isort"),
        ("from spack.package import *\n\nname = 'a'\n", "black"),
        ("import re\n\nfrom spack.package import *\n", "flake8"),
        ("from spack.package import *\n\nspack.config.get('a')\n", "import"),
    ],
)
def test_what_is_not_spacks_style_is_refused(
    real: SpackCommand, search: str, tmp_path: Path, source: str, tool: str
) -> None:
    process = style(real, search, tmp_path, source)
    assert process.returncode != 0
    assert f"{tool} found errors" in process.stdout


#: Two packages that write what they do to `done`; `second` waits in its build for the file `go`.
TINY_RECIPE = """
import os
import time

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class {name}(Package):
    homepage = "https://example.invalid"
    has_code = False
    version("1")
    {dependency}

    def install(self, spec, prefix):
        with open("{done}", "a") as done:
            print(self.name, file=done)
        mkdirp(prefix.bin)
        touch(prefix.bin.program)
        while not os.path.exists("{go}"):
            time.sleep(0.05)
"""
TINY_ENVIRONMENT = """
spack:
  specs: [second]
  view: false
  repos: {{tiny: {folder}/spack_repo/tiny}}
  concretizer: {{static_analysis: true}}
  config:
    install_tree: {{root: {folder}/opt}}
    build_stage: {folder}/stage
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """An environment of the two packages."""
    repository = tmp_path / "spack_repo" / "tiny"
    for name, dependency, go in (("first", "", "/"), ("second", 'depends_on("first")', None)):
        recipe = repository / "packages" / name / "package.py"
        recipe.parent.mkdir(parents=True)
        text = TINY_RECIPE.format(
            name=name.capitalize(),
            dependency=dependency,
            done=tmp_path / "done",
            go=go or tmp_path / "go",
        )
        recipe.write_text(text)
    (repository / "repo.yaml").write_text("repo: {namespace: tiny, api: v2.2}\n")
    (tmp_path / "spack.yaml").write_text(TINY_ENVIRONMENT.format(folder=tmp_path))
    return tmp_path


def test_what_was_built_before_a_kill_is_kept(real: SpackCommand, tiny: Path) -> None:
    log, command = tiny / "done", [real.command, "-e", tiny, "install"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    while not (log.exists() and "second" in log.read_text()):
        assert process.poll() is None, "spack install ended before the second build began"
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    (tiny / "go").touch()
    rerun = subprocess.run(command, capture_output=True, text=True)

    assert rerun.returncode == 0, rerun.stderr + rerun.stdout
    assert log.read_text().split() == ["first", "second", "second"]
    assert "Installing first" not in rerun.stdout
    assert "second: Successfully installed" in rerun.stdout
