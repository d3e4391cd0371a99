"""A scheduler is known in its own module alone: another one needs no change elsewhere."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError
from roundtrip.measure import scheduler
from roundtrip.sites import schedulers, site_file
from roundtrip.sites.schedulers.interface import Scheduler

CHECKOUT = Path(__file__).parents[3]
PACKAGE = CHECKOUT / "src" / "roundtrip" / "sites" / "schedulers"
#: Commands, options, variables and the name of Slurm.
WORDS = re.compile(
    r"\b(?:sinfo|squeue|sacct|sacctmgr|scontrol|scancel|sbatch|salloc|scrontab|srun|srunalloc)\b"
    r"|\w*slurm\w*|\bSBATCH_\w+|--(?:nodelist|constraint|mpi=|cpu-bind|kill-on-bad-exit)"
    r"|--(?:switches|exclusive)",
    re.IGNORECASE,
)
#: Words that others may have, and why.
FIELDS = {"slurm_node"}  # a field of run.json, which workloads/core/identity.cpp writes
EXCEPTIONS = {
    "sites/data.py",  # examples in the descriptions of keys
    *("cli/__init__.py", "sites/site_file.py"),  # spellings of earlier versions
    "campaigns/nightly.sbatch",  # the job script of a night, a scheduler's own
}


def code(file: Path) -> str:
    """The code of a module without comments and docstrings; the text of any other file."""
    if file.suffix != ".py":
        return file.read_text()
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.unparse(tree)


FILES = sorted(
    file
    for folder in ("src/roundtrip", "checks", "reframe", "campaigns", "site-configs/base")
    for file in (CHECKOUT / folder).rglob("*")
    if file.is_file() and file.suffix not in (".md", ".pyc") and "slurm" not in file.name
    if PACKAGE not in file.parents
)


def test_nothing_else_knows_a_command_an_option_or_a_variable_of_slurm() -> None:
    assert {file.suffix for file in FILES} >= {".py", ".toml", ".j2", ".js", ".css", ".json", ".in"}
    found = {}
    for file in FILES:
        name = str(file.relative_to(CHECKOUT)).removeprefix("src/roundtrip/")
        words = {*WORDS.findall(code(file))} - FIELDS
        if words and name not in EXCEPTIONS:
            found[name] = words
    assert not found, f"ask roundtrip.sites.schedulers instead: {found}"


def test_a_machine_without_a_scheduler_answers_everything() -> None:
    local = schedulers.scheduler_of_reframe_name("local")
    assert local is schedulers.NO_SCHEDULER and not local.allocates_nodes
    assert local.reframe_job_options("a") == local.node_options(["n1"]) == []
    assert local.node_count_options(2) == local.cancel_jobs("a", {}) == []
    assert local.collect_nodes({}, "nodes", {}) == local.collect_node_names() == []
    assert local.retrying_environment({"PATH": "/bin"}, 0, None) == {"PATH": "/bin"}
    assert local.displacement_reason("", "x") == "" and local.nodes_down("x", ["n1"]) == set()
    assert local.find_pending_job("a", {}, 1) is None and local.collect_maintenances({}) == []
    assert not local.is_no_answer_message("refused") and not local.is_submit_limit_message("limit")


@pytest.mark.parametrize(
    ("scheduler", "launcher", "key"),
    [
        ("slurm", "srun", "slurm"),
        ("squeue", "mpirun", "slurm"),
        ("local", "srunalloc", "slurm"),  # a step of the job that runs ReFrame
        ("local", "mpirun", ""),
        ("pbs", "mpiexec", ""),
    ],
)
def test_what_reframe_names_leads_to_the_scheduler(scheduler: str, launcher: str, key: str) -> None:
    found = schedulers.scheduler_of_reframe_name(scheduler, launcher)
    assert found.key == key
    assert schedulers.scheduler_of_key(key) is found


class Other(Scheduler):
    key, title, allocates_nodes = "other", "Other", True
    reframe_schedulers = ("other",)
    commands = ("othersub",)


def test_the_job_script_of_a_night_is_given_the_wrappers_by_the_old_option_too() -> None:
    wrappers = f"{schedulers.scheduler_of_key('slurm').wrapper_folder}\n"
    result = CliRunner().invoke(app, ["--scheduler-commands", "slurm"])
    assert (result.stdout, result.stderr) == (wrappers, "")
    result = CliRunner().invoke(app, ["--slurm-commands"])
    assert result.stdout == wrappers
    assert result.stderr == ("warning: --slurm-commands is called --scheduler-commands slurm now\n")
    result = CliRunner().invoke(app, ["--scheduler-commands", "other"])
    assert str(result.exception) == "--scheduler-commands other: right is slurm"


def test_a_site_has_the_scheduler_of_its_partitions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = Other()
    monkeypatch.setattr(schedulers, "SCHEDULERS", (*schedulers.SCHEDULERS, other))
    partitions = {"a": {"scheduler": "local"}, "b": {"scheduler": "other"}}
    assert schedulers.scheduler_of_site(partitions) is other
    assert schedulers.scheduler_of_site({"a": partitions["a"]}) is schedulers.NO_SCHEDULER
    (tmp_path / scheduler.LOG_FILE).write_text("0 lost a othersub x\n1 back a\n")
    assert scheduler.outage_record(tmp_path)["scheduler"] == "other"


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Other:
    """A second scheduler; the commands of it and of Slurm are in PATH."""
    monkeypatch.setattr(schedulers, "SCHEDULERS", (*schedulers.SCHEDULERS, item := Other()))
    for name in ("sinfo", "othersub"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return item


def test_of_two_installed_schedulers_a_site_declares_its_own(
    other: Other, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "site.toml", tmp_path
    bad[0].write_text("foo = 1\n")
    with pytest.raises(UserError, match="^PATH has commands of Slurm and Other: leave in it those"):
        schedulers.scheduler_of_site_here("elsewhere")
    (tmp_path / "sinfo").unlink()
    assert schedulers.scheduler_of_site_here("elsewhere") is other
    assert schedulers.scheduler_of_site_here("infiniband").key == "slurm"
    with monkeypatch.context() as patch:
        patch.setattr(
            schedulers.Site, "site_data", property(lambda _: site_file.read_site_data(*bad))
        )
        assert schedulers.scheduler_of_site_here("infiniband") is other
    assert schedulers.scheduler_of_site_here("local") is schedulers.NO_SCHEDULER


@pytest.mark.usefixtures("other")
@pytest.mark.parametrize(
    ("record", "title"),
    [
        ({"partitions": [{"scheduler": "local"}, {"scheduler": "other"}]}, "Other"),
        ({"partitions": [{"scheduler": "squeue"}]}, "Slurm"),
        *((record, "the scheduler") for record in (None, [], {"partitions": [None, {}]})),
    ],
)
def test_a_page_names_the_scheduler_of_its_bundle(record: object, title: str) -> None:
    data: Any = SimpleNamespace(env_records={"site-config.json": record})
    assert BundleData.scheduler.fget(data).title == title  # type: ignore[attr-defined]
