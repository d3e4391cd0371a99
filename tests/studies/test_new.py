"""`roundtrip study new`: a study that builds, measures, checks and reports, and touches no file."""

import importlib
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.measured import MeasuredCase, measured_bundle
from support.programs import command_environment, run_git, skip_without_toolchains
from typer.testing import CliRunner

from roundtrip import studies
from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.stats.verdicts import Family, judge
from roundtrip.studies import derivation
from roundtrip.studies.section import find_section
from roundtrip.study import PlannedCase, Study, load_studies

CHECKOUT = Path(__file__).parents[2]
GUIDE = CHECKOUT / "docs" / "add-a-study.md"
STUDIES = Path("src/roundtrip/studies")
TOOLCHAIN = "openmpi41-boost181"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """This checkout as it stands, with all of it committed."""
    place = tmp_path / "clone"
    listing = run_git(CHECKOUT, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    for name in filter(None, listing.split("\0")):
        if (CHECKOUT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, place / name)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        run_git(place, *command)
    return place


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        *((name, "invalid study name") for name in ("", "B", "two words", "../x", "1st", "class")),
        ("netpipe", "already exists"),
        ("panel", "already exists"),
        ("x" * 31, "invalid study name"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_line(name: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        studies.create_study(name, tmp_path)
    assert complaint in error.value.message
    assert list(tmp_path.iterdir()) == []


def test_the_command_is_study_new_and_refuses_a_study_that_exists() -> None:
    """By the name that the guide gives it."""
    result = CliRunner().invoke(app, ["study", "new", "netpipe"])
    assert isinstance(result.exception, UserError)
    assert "netpipe already exists" in result.exception.message


def test_nothing_is_overwritten_and_nothing_written_beside_it(tmp_path: Path) -> None:
    campaign = tmp_path / "campaigns" / "barrier.toml"
    campaign.parent.mkdir()
    campaign.write_text("mine")
    with pytest.raises(UserError, match="already exists"):
        studies.create_study("barrier", tmp_path)
    assert campaign.read_text() == "mine"
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [campaign]


def test_no_placeholder_stays_and_the_style_is_the_house_s(clone: Path) -> None:
    files = studies.create_study("barrier", clone)
    texts = [(clone / file).read_text() for file in files]
    assert [text for text in texts if re.search(r"\{\{\w+\}\}", text)] == []
    assert [file for file in files if "NAME" in file.name or file.suffix == ".in"] == []
    python = [str(file) for file in files if file.suffix == ".py"]
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, *python]
        process = subprocess.run(ruff, cwd=clone, capture_output=True, text=True)
        assert process.returncode == 0, process.stdout + process.stderr


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The modules of a study `barrier` by their names, imported from where they were written."""
    files = studies.create_study("barrier", tmp_path)
    monkeypatch.setattr(studies, "__path__", [*studies.__path__, str(tmp_path / STUDIES)])
    names = sorted(file.stem for file in files if file.parent == STUDIES / "barrier")
    modules = {
        name: f"roundtrip.studies.barrier.{name}".removesuffix(".__init__") for name in names
    }
    for module in modules.values():
        monkeypatch.delitem(sys.modules, module, raising=False)
    yield {name: importlib.import_module(module) for name, module in modules.items()}
    for module in modules.values():
        del sys.modules[module]


def test_a_written_study_claims_in_its_report_what_it_plans(written: dict[str, Any]) -> None:
    assert set(written) == {"__init__"}
    study: Study = written["__init__"].STUDY
    data = measured_bundle([MeasuredCase("Barrier@a", {"barrier": 10, "allreduce": 20})])
    section = find_section(study, data)
    assert section is not None
    claims = section.ratios_by_claim()
    (claim,) = claims
    case = PlannedCase("Barrier@a", "barrier", "Barrier", "local:smp", "openmpi")
    (plan,) = study.primary_claims([case], data.analysis.compared_sizes(study))
    assert (claim.family, plan.count) == (Family.PRIMARY, 1)
    part = section.report_section(judge(claims, data.analysis.statistics))
    (answer,) = part.answers
    assert "faster" in str(answer.text[0])
    assert derivation.audit_facts(study).summaries


def test_the_test_of_a_written_study_passes(written: dict[str, Any], tmp_path: Path) -> None:
    load_studies.cache_clear()
    try:
        tests = runpy.run_path(str(tmp_path / "tests/studies/barrier/test_barrier.py"))
        tests["test_a_figure_is_the_median_of_its_arm"]()
    finally:
        load_studies.cache_clear()


@pytest.mark.nightly
@skip_without_toolchains(TOOLCHAIN)
def test_the_guide_holds(clone: Path, tmp_path: Path) -> None:
    """Its commands, as they stand: from nothing to a report with a section of the new study."""
    environment = command_environment(tmp_path, PYTHONPATH=str(clone / "src"))
    output = {}
    for command in re.findall(r"^ {4}(\S.*)", GUIDE.read_text(), re.MULTILINE):
        process = subprocess.run(
            command.split(), cwd=clone, env=environment, capture_output=True, text=True
        )
        is_busy = "launches were disturbed" in process.stderr
        assert process.returncode == 0 or is_busy, f"{command}\n{process.stdout}\n{process.stderr}"
        output[command] = process.stdout
    status = output["git status --short"].splitlines()
    assert status and all(line.startswith("?? ") for line in status), status
    (report,) = (tmp_path / "reports").rglob("report.md")
    text = report.read_text()
    assert "What does it cost that all ranks wait for each other?" in text
    assert "Allreduce of 1 B" in text
