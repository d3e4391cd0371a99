"""`site new` and `site check` on three Slurm configurations, as real controllers described them.

`ROUNDTRIP_UPDATE_GOLDEN=1 pytest tests/sites/schedulers/test_sites.py` writes the expected sites
anew: read the difference.
"""

import getpass
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.json_files import replace_text

from roundtrip.sites import new, probe, schedulers
from roundtrip.sites.check import JobScript, time_limit_faults
from roundtrip.sites.probe import MachineFacts
from roundtrip.sites.schedulers.interface import NodeGroup
from roundtrip.sites.schedulers.slurm import facts as slurm
from roundtrip.sites.schedulers.slurm import site as slurm_site
from roundtrip.sites.site import Case, Site

DATA = Path(__file__).parents[1] / "data" / "slurm"
#: What of a site follows from Slurm alone.
FILES = ("site.toml", "README.md", "environment")
SLURMS = ("plain", "tree", "mixed")


def said(name: str) -> dict[str, str | None]:
    answers: dict[str, str | None] = json.loads((DATA / name / "said.json").read_text())
    return answers


def facts(name: str, without: str = "", **replacements: str) -> MachineFacts:
    """What the probe finds there; `without` commands that begin so, others with another answer."""
    answers = {**said(name), **replacements}

    def run(*command: str) -> str | None:
        line = " ".join(command)
        return None if without and line.startswith(without) else answers.get(line)

    no_processor = dict.fromkeys(("cpu", "target", "sockets", "cores"))
    return replace(
        probe.collect_machine_facts(run, Path("/nonexistent")), libraries=(), **no_processor
    )  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def who(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were recorded by this user, where Slurm's commands are."""
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    monkeypatch.setattr(schedulers, "installed_scheduler", lambda: schedulers.SCHEDULERS[0])


def write_site(checkout: Path, name: str) -> Path:
    """The folder of site `mine`, written on the Slurm `name`."""
    return new.write_site("mine", facts(name), checkout, software="toolchains")


def faults(checkout: Path, name: str) -> list[str]:
    """The differences of site `mine` from the Slurm `name`."""
    findings = slurm_site.check_limits(Site("mine", checkout), facts(name).cluster)
    return [item.detail for item in findings if item.verdict == "fault"]


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 7"), OSError("no name")])
def test_who_has_no_name_has_no_accounts(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", fail)
    assert slurm.collect_cluster(lambda *_: None).user_accounts == ()
    assert slurm.collect_cluster(lambda *_: "bench|root|normal").user_accounts == ()


@pytest.mark.parametrize("name", SLURMS)
def test_the_site_of_a_slurm_is_the_expected_one_and_fits_it(checkout: Path, name: str) -> None:
    folder = write_site(checkout, name)
    expected = DATA / name / "site"
    if os.environ.get("ROUNDTRIP_UPDATE_GOLDEN"):
        expected.mkdir(exist_ok=True)
        for file in FILES:
            shutil.copyfile(folder / file, expected / file)
    for file in FILES:
        assert (folder / file).read_text() == (expected / file).read_text(), file
    assert not (folder / "spack").exists()
    assert faults(checkout, name) == [], "a new site differs in nothing from its Slurm"


def test_what_was_recorded_is_of_three_kinds() -> None:
    plain, tree, mixed = map(facts, SLURMS)
    assert tuple(item.cluster.accounting for item in (plain, tree, mixed)) == (False, True, False)
    assert (plain.cluster.binds_tasks, tree.cluster.binds_tasks) == (False, True)
    assert plain.cluster.nodes_by_switch == {}
    assert list(tree.cluster.nodes_by_switch) == ["leafA", "leafB"]
    assert tree.cluster.nodes_by_switch["leafA"] == ("a1", "a2", "a3", "a4")
    assert tree.cluster.max_job_s_by_qos == {"normal": None, "long": 12 * 3600, "whole": None}
    assert tree.cluster.user_accounts == ("hpc", "root")
    assert tree.cluster.limits_by_partition["grid"].allowed_qos == ("whole", "normal")
    assert not mixed.cluster.limits_of("broken").is_up
    assert mixed.cluster.node_groups_by_partition["grid"] == (
        NodeGroup(2, 4, ("clusterA",), ""),
        NodeGroup(2, 4, ("clusterB",), ""),
        NodeGroup(2, 4, ("clusterB", "gpu"), "gpu:a100:2"),
        NodeGroup(2, 8, ("clusterA", "fat"), ""),
    ), "a drained node is of the same kind as an idle one"


def test_a_partition_that_is_down_is_not_measured() -> None:
    listing = said("mixed")["sinfo -h -o " + slurm.PARTITION_FORMAT] or ""
    text = "".join(line + "\n" for line in listing.splitlines() if line.startswith("broken"))
    site_facts = facts("mixed", **{"sinfo -h -o " + slurm.PARTITION_FORMAT: text})
    assert [partition.name for partition in site_facts.cluster.partitions] == ["broken"]
    assert site_facts.cluster.distinct_partitions == []


def test_where_slurm_says_little_the_site_is_written(checkout: Path) -> None:
    """Commands that a site forbids to its users: the rest is found."""
    site_facts = facts("tree", without="scontrol")
    assert site_facts.cluster.limits_by_partition == {}
    assert site_facts.cluster.nodes_by_switch == {}
    assert site_facts.cluster.accounting is None
    folder = new.write_site("mine", site_facts, checkout, software="toolchains")
    assert "SBATCH_TIMELIMIT=360" in (folder / "environment").read_text()


@pytest.mark.parametrize(
    ("name", "old", "new_", "fault"),
    [
        ("mixed", "{partition}", "broken", "Slurm's 'broken' is not up: it starts no job"),
        ("tree", "--exclusive", "--qos=night", "there is no QOS 'night' for you; there are: norm"),
        ("tree", "--exclusive", "--qos=long", "'grid' takes no QOS 'long', only whole, normal"),
        ("mixed", "--exclusive", "--constraint=thin", "no node of 'grid' has the feature 'thin'"),
        ("mixed", "--exclusive", "--gres=fpga:1", "no node of 'grid' has 'fpga'"),
        ("tree", "P_ACCOUNT=hpc", "P_ACCOUNT=x", "no account 'x' for you; there are: hpc, root"),
        ("tree", "P_ACCOUNT=hpc", "P_ACCOUNT=root", "'grid' takes no account 'root', only hpc"),
        ("tree", "PARTITION=service", "PARTITION=nights", "N: there is no partition 'nights'"),
        ("tree", "TIMELIMIT=60", "TIMELIMIT=1-0", "T: 1440 minutes, and 'service' allows 60"),
        ("tree", "SBATCH_ACCOUNT", "SBATCH_QOS=x SBATCH_ACCOUNT", "there is no QOS 'x' for you"),
    ],
)
def test_what_a_site_or_its_night_asks_and_slurm_has_not_is_a_fault(
    checkout: Path, name: str, old: str, new_: str, fault: str
) -> None:
    files = (write_site(checkout, name) / "environment", checkout / "site-configs/base/slurm.toml")
    replace_text(next(file for file in files if old in file.read_text()), old, new_)
    (detail,) = faults(checkout, name)
    assert fault in detail


def test_a_site_from_another_slurm_has_its_differences_named(checkout: Path) -> None:
    """Accounting and task binding are here; on the other cluster they are not."""
    write_site(checkout, "tree")
    details = "\n".join(faults(checkout, "plain"))
    assert "scheduler 'slurm' asks sacct, which answers nothing here" in details
    assert "TaskPlugin is task/none, without task/affinity" in details


def test_a_job_script_asks_for_no_more_time_than_its_partition_allows(checkout: Path) -> None:
    write_site(checkout, "plain")
    site = Site("mine", checkout)
    (partition,) = site.partitions
    case = Case("NetPIPE", (), "0" * 8, "mine", partition, "a")
    scripts = [JobScript(case, f"#SBATCH --time={time}\n") for time in ("1:0:0", "1:0:1")]
    cluster = facts("plain").cluster
    assert time_limit_faults(scripts[:1], site, cluster) == []
    (fault,) = time_limit_faults(scripts, site, cluster)
    assert fault == "NetPIPE asks for 60 minutes of partition 'grid', which allows 60"
    limits = {"grid": replace(cluster.limits_by_partition["grid"], max_job_s=None)}
    assert time_limit_faults(scripts, site, replace(cluster, limits_by_partition=limits)) == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:00:00", 3600),
        ("1-00:00:00", 86400),
        ("1-2", 93600),
        ("90", 5400),
        ("30:30", 1830),
        ("UNLIMITED", None),
        ("", None),
    ],
)
def test_slurm_writes_times_in_many_ways(text: str, seconds: int | None) -> None:
    assert slurm.parse_time_limit_s(text) == seconds
