"""Rules for what is committed: locked, without addresses of registries, safe for ReFrame."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from support.programs import run_program

ROOT = Path(__file__).parents[2]
#: Put together here, so that this file passes its own test.
REGISTRIES = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("deb", "debian", "org"),
        ("ftp", "debian", "org"),
        ("security", "debian", "org"),
        ("crates", "io"),
        ("registry", "npmjs", "org"),
        ("proxy", "golang", "org"),
        ("repo1", "maven", "org"),
    )
)


def tracked() -> list[Path]:
    process = run_program("git", "ls-files", "-z", cwd=ROOT, check=True)
    files = [ROOT / name for name in process.stdout.split("\0") if name]
    return [file for file in files if file.is_file()]


def test_reframe_folder_is_no_package() -> None:
    """It would hide the installed ReFrame from every check."""
    assert (ROOT / "reframe" / "settings.py").is_file()
    assert not (ROOT / "reframe" / "__init__.py").exists()


def test_no_tracked_file_names_a_registry_host() -> None:
    files = tracked()
    assert len(files) > 20
    pattern = re.compile("|".join(re.escape(host) for host in REGISTRIES).encode())
    offenders = [str(file.relative_to(ROOT)) for file in files if pattern.search(file.read_bytes())]
    assert offenders == []


@pytest.mark.parametrize(
    "name",
    [
        "requirements.lock",
        "requirements-site.lock",
        "site-configs/local/rootless.lock",
        "site-configs/local/test.lock",
    ],
)
def test_locked_requirements_have_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(-|--(index|extra|find|trusted))", text.replace("--hash", ""), re.M)
    requirements = re.findall(r"^[a-z0-9][^\n]*?(?:\\\n[^\n]*?)*$", text, re.MULTILINE)
    assert requirements
    violations = [item for item in requirements if not re.match(r"[\w.-]+==\S+ \\\n", item)]
    assert violations == []
    assert all("--hash=sha256:" in requirement for requirement in requirements)


def test_the_installer_of_the_package_itself_is_locked() -> None:
    """`pip install --no-build-isolation` takes setuptools from the environment."""
    assert re.search(r"^setuptools==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)


@pytest.mark.parametrize("script", ["site-configs/local/bootstrap", ".ci/run"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    file = ROOT / script
    assert file.stat().st_mode & 0o111
    shell = file.read_text().splitlines()[0].removeprefix("#!")
    assert subprocess.run([shell, "-n", file]).returncode == 0


def test_every_make_target_in_the_help_exists() -> None:
    process = run_program("make", "help", cwd=ROOT, check=True)
    targets = [line.split()[0] for line in process.stdout.splitlines()]
    assert {"campaign", "test", "toolchains", "bench", "clean"} <= set(targets)
    for target in targets:
        command = ["make", "--dry-run", target]
        assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0


def test_the_release_that_is_cited_is_in_the_changelog() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    headings = re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert f"{citation['version']} ({citation['date-released']})" in headings
