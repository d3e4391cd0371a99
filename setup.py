"""Puts what a campaign folder holds into the wheel; `roundtrip init` lays it out."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CAMPAIGN_FOLDER = (
    "campaigns",
    "checks",
    "reframe",
    "samples/wan-marks",
    "site-configs",
    "spack.yaml",
    "spack_repo",
    "testbed",
    "workloads",
)


class BuildWithCampaignFolder(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "roundtrip", "shipped")
        shutil.rmtree(target, ignore_errors=True)
        for name in CAMPAIGN_FOLDER:
            source, copy = Path(name), target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "build", ".*")
                shutil.copytree(source, copy, ignore=ignored)
            else:
                shutil.copy2(source, copy)


setup(cmdclass={"build_py": BuildWithCampaignFolder})
