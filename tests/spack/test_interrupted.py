"""An installation that is killed in the middle of a build, and the same command again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from roundtrip.sites.software import Spack

#: Two packages that write what they do to `done`; `second` waits in its build for the file `go`.
RECIPE = """
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
ENVIRONMENT = """
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
        text = RECIPE.format(
            name=name.capitalize(),
            dependency=dependency,
            done=tmp_path / "done",
            go=go or tmp_path / "go",
        )
        recipe.write_text(text)
    (repository / "repo.yaml").write_text("repo: {namespace: tiny, api: v2.2}\n")
    (tmp_path / "spack.yaml").write_text(ENVIRONMENT.format(folder=tmp_path))
    return tmp_path


def test_what_was_built_before_a_kill_is_kept(real: Spack, tiny: Path) -> None:
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
