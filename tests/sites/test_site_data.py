"""What a site is comes from its data alone, and from the toolchains that are built."""

import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest
from reframe.core.exceptions import ConfigError
from support.json_files import replace_text

from roundtrip.errors import UserError
from roundtrip.sites import data, launching, render, site_file
from roundtrip.sites.toolchains.spec import read_catalogue

CHECKOUT = Path(__file__).parents[2]
GUIDE = (CHECKOUT / "docs" / "mpi-developer.md").read_text()


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder site-configs/ of a checkout; no toolchain is built."""
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path / "toolchains"))
    monkeypatch.setattr("sys.argv", ["reframe", "-l"])
    folder = tmp_path / "checkout" / "site-configs"
    shutil.copytree(CHECKOUT / "site-configs", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def environments(folder: Path) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in render.reframe_configuration(folder)["environments"]}


def partitions(folder: Path) -> dict[str, dict[str, Any]]:
    (system,) = render.reframe_configuration(folder)["systems"]
    return {item["name"]: item for item in system["partitions"]}


def test_the_guides_second_mpich_stands_beside_the_first(sites: Path) -> None:
    """The table as docs/mpi-developer.md prints it, and no code."""
    environs_before = environments(sites / "local")
    (table,) = re.findall(r"^ {8}\[mpi\.mpich43\]\n(?:^ {8}.*\n)+", GUIDE, re.MULTILINE)
    with (sites / "toolchains.toml").open("a") as file:
        file.write("\n" + textwrap.dedent(table))
    environs = environments(sites / "local")
    assert set(environs) - set(environs_before) == {"mpich43-boost174", "mpich43-boost181"}
    assert {name: environs[name] for name in environs_before} == environs_before
    older, newer = environs["mpich43-boost181"], environs["mpich50-boost181"]
    assert (older["extras"]["mpi"], newer["extras"]["mpi"]) == ("mpich", "mpich")
    assert (older["extras"]["mpi_version"], newer["extras"]["mpi_version"]) == ("4.3", "5.0")
    assert older["extras"]["toolchain"] == "MPICH 4.3, Boost 1.81"
    assert older["cxx"].endswith("/toolchains/mpich43/bin/mpicxx")
    assert newer["cxx"].endswith("/toolchains/mpich50/bin/mpicxx")
    for key in ("launcher", "launcher_options"):
        assert older["extras"][key] == newer["extras"][key]


def test_a_transport_of_the_wan_is_one_line(sites: Path) -> None:
    line = (
        'mpich50-verbs = { mpi = "mpich50", over = "verbs", '
        'variables = { FI_PROVIDER = "verbs", MPIR_CVAR_CH4_NETMOD = "ofi" } }\n'
    )
    replace_text(sites / "virtual" / "site.toml", "[transport]\n", f"[transport]\n{line}")
    environ = environments(sites / "virtual")["mpich50-verbs"]
    assert environ["extras"]["toolchain"] == "MPICH 5.0 over verbs"
    assert environ["extras"]["transport"] == "verbs"
    assert ["FI_PROVIDER", "verbs"] in environ["env_vars"]
    assert environ["extras"]["launcher_options"] == ["--mpi=pmi2"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('mpi = "mpich40"', 'mpi = "mpich41"', "unknown MPI 'mpich41' in transport 'mpich40-ucx'"),
        ('unless = "hub"', 'unless = "hab"', "unknown condition 'hab'; there are: accounting, hub"),
        ("[launch.mpich]", "[launch.mpitch]", "does not say how MPICH 4.0 starts ranks"),
        ('software = "toolchains"', 'software = "apt"', "software: input should be 'toolchains'"),
        ('binding = "none"', "binding = 0", "binding: input should be a valid string, not 0"),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_be_right(
    sites: Path, old: str, new: str, complaint: str
) -> None:
    replace_text(sites / "virtual" / "site.toml", old, new)
    with pytest.raises(UserError) as error:
        render.reframe_configuration(sites / "virtual")
    assert complaint in str(error.value)


def test_what_two_sites_share_stands_in_one_place(sites: Path) -> None:
    replace_text(sites / "base" / "rdma.toml", "ulimit -S -l hard", "ulimit -l 1000000")
    for name in ("infiniband", "roce"):
        (system,) = render.reframe_configuration(sites / name)["systems"]
        for partition in system["partitions"]:
            assert partition["prepare_cmds"] == ["ulimit -l 1000000"]


def read(file: Path, text: str) -> tuple[data.SiteData, list[str]]:
    """The site with this `text`, and the warnings."""
    warnings: list[str] = []
    file.write_text(text)
    return site_file.read_site_data(file, file.parents[2], warnings.append), warnings


def test_the_bases_that_an_earlier_version_laid_out_are_read(sites: Path) -> None:
    """A campaign folder keeps its copy: `slurm-ucx` was one file, over `slurm`."""
    file = sites / "infiniband" / "site.toml"
    text = file.read_text().replace('["slurm", "infiniband"]', '"infiniband"')
    site, _ = read(file, text)
    base = sites / "base"
    ucx = (base / "ucx.toml").rename(base / "slurm-ucx.toml")
    ucx.write_text(f'base = "slurm"\n{ucx.read_text()}')
    for name, lower in {"infiniband": "rdma", "rdma": "slurm-ucx"}.items():
        layer = base / f"{name}.toml"
        layer.write_text(re.sub("base = .*", f'base = "{lower}"', layer.read_text(), count=1))
    former_site, warnings = read(file, text)
    assert former_site == site
    line = text.splitlines().index('base = "infiniband"') + 1
    others = ", ".join(f"{base}/{place}" for place in ("infiniband.toml:3", "rdma.toml:2"))
    assert warnings == [
        f'{file}:{line}: base is a list now: base = ["slurm", "infiniband"]; '
        f"former spellings are also in {others}, {base}/slurm-ucx.toml:1"
    ]


@pytest.mark.parametrize("fabric", ["infiniband", "roce"])
def test_a_single_base_is_read_as_before_with_a_warning(sites: Path, fabric: str) -> None:
    """A fabric lay over Slurm's base, and a Slurm partition had a table of another name."""
    file = sites / fabric / "site.toml"
    text = file.read_text() + "[scheduler_partition.gpu]\nnodes = 4\n"
    site, warnings = read(file, text)
    assert warnings == []
    former = text.replace(f'["slurm", "{fabric}"]', f'"{fabric}"').replace("scheduler_p", "slurm_p")
    lines = former.splitlines()
    base, table = lines.index(f'base = "{fabric}"') + 1, lines.index("[slurm_partition.gpu]") + 1
    warning = f"{file}:{table}: slurm_partition is called scheduler_partition now; "
    warning += f"former spellings are also in {file}:{base}"
    assert read(file, former) == (site, [warning])


def test_a_fabric_lies_over_the_base_of_any_scheduler(sites: Path) -> None:
    base = (sites / "base" / "slurm.toml").read_text().replace("--partition=", "-q ")
    base = base.replace("--switches=1@10:00", "-l place=group=switch")
    (sites / "base" / "other.toml").write_text(base.replace('"slurm"', '"other"'))
    file = sites / "infiniband" / "site.toml"
    site, _ = read(file, file.read_text().replace('"slurm", ', '"other", '))
    partition = site.partition["ib-rc"]
    assert partition.scheduler == "other"
    assert partition.access == ("-q compute", "--exclusive", "-l place=group=switch")
    assert partition.variables["UCX_NET_DEVICES"] == "mlx5_0:1"


def test_a_list_goes_on_that_of_the_bases_or_replaces_it(sites: Path) -> None:
    file = sites / "infiniband" / "site.toml"
    text = file.read_text()
    bases = ("--partition=compute", "--exclusive", "--switches=1@10:00")
    for access, expected in (('["...", "--qos=x"]', (*bases, "--qos=x")), ('["x"]', ("x",))):
        site, _ = read(file, f"{text}\n[every_partition]\naccess = {access}\n")
        assert site.partition["ib-ud"].access == expected
    site, _ = read(file, f"{text}\n[partition.ib-rc]\nwithout = ['...', 'mpich']\n")
    assert site.partition["ib-rc"].without == ("mpich",)


def test_a_list_for_both_sides_of_a_link_that_extends_none_is_its_own_items(sites: Path) -> None:
    file = sites / "infiniband" / "site.toml"
    site, _ = read(
        file, f"{file.read_text()}\n[every_partition.extras]\nacross = ['...', '{{a}}']\n"
    )
    assert site.partition["ib-rc"].extras.across == ("{a}",)


def test_a_base_that_two_others_have_is_laid_once(sites: Path) -> None:
    (sites / "base" / "ours.toml").write_text('base = ["slurm"]\n[every_partition]\nmax_jobs = 2\n')
    file = sites / "infiniband" / "site.toml"
    site, _ = read(file, file.read_text().replace('"infiniband"]', '"infiniband", "ours"]'))
    partition = site.partition["ib-rc"]
    assert (partition.max_jobs, partition.access[-1]) == (2, "--switches=1@10:00")


NO_SCHEDULER = "partition.infiniband: 'scheduler' is missing"
NO_TABLE = "partition.ib-rc.extras: input should be a table"
OTHER_ITEMS = '"..." is the first item of a list that extends another'
WRONG_ORDER = 'base: the scheduler\'s comes before the fabric\'s: base = ["slurm", "infiniband"]'
BASES = '["slurm", "infiniband"]'
#: Tables at the end of a site.
SIZE = '\n[scheduler_partition.gpu]\nnodes = "4"\n'
EXTRAS = "[scheduler_partition.gpu]\n[partition.ib-rc]\nextras = []\n"
FORMER = "[slurm_partition.a]\nnodes = 2\n[scheduler_partition.b]\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "fault"),
    [
        (BASES, '["infiniband"]', "base", "partition 'ib-rc' has no `scheduler`: the base of"),
        (BASES, '["slurm"]', "base", "no partition: after the scheduler's base comes a fabric's"),
        (BASES, "3", "base", "base: there is no '3'; there are: ethernet, infiniband, machine, "),
        (BASES, '["slurm", 3]', "base", "base: there is no '3'; there are: ethernet"),
        (BASES, f"{BASES[:-1]}, 'tcp']", "base", "base: 'infiniband' and 'tcp' are fabrics: right"),
        (BASES, '["infiniband", "slurm"]', "base", WRONG_ORDER),
        ('scheduler = "local"\n', "", "[partition.infiniband]", NO_SCHEDULER),
        ("", SIZE, 'nodes = "4"', "partition.ib-rc.extras.nodes: input"),
        ("", EXTRAS, "extras = []", NO_TABLE),
        # Other items of a list would be lost, and a table beside one of its former name.
        ("", "[every_partition]\naccess = ['x', '...']\n", "access", OTHER_ITEMS),
        ("", FORMER, "[slurm_partition.a]", "slurm_partition is called scheduler_partition now"),
    ],
)
def test_a_fault_has_its_line(sites: Path, old: str, new: str, line: str, fault: str) -> None:
    """Of the text in which `new` replaces `old`, or is added, with the fault in this line."""
    files = [sites / name / "site.toml" for name in ("infiniband", "odin")]
    file = next(file for file in files if old in file.read_text())
    text = file.read_text()
    text = text.replace(old, new) if old else text + new
    (number,) = (n for n, item in enumerate(text.splitlines(), 1) if item.startswith(line))
    with pytest.raises(UserError, match=re.escape(f"{file}:{number}: {fault}")):
        read(file, text)


def test_the_papers_ranks_fit_where_slurm_has_the_nodes(sites: Path, tmp_path: Path) -> None:
    """16 + 16 ranks, a node each, on two clusters that were booted as large."""
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "NodeName=DEFAULT Sockets=1 CoresPerSocket=2\n"
        "NodeName=a[1-16] Feature=clusterA\nNodeName=b[1-16] Feature=clusterB\n"
        "PartitionName=clusterA Nodes=a[1-16]\nPartitionName=clusterB Nodes=b[1-16]\n"
        "PartitionName=grid Nodes=a[1-16],b[1-16]\n"
    )
    defaults = partitions(sites / "virtual")
    assert (defaults["grid"]["extras"]["nodes"], defaults["clusterA"]["extras"]["cores"]) == (8, 4)
    replace_text(sites / "virtual" / "site.toml", "/etc/slurm/slurm.conf", str(conf))
    large_partitions = partitions(sites / "virtual")
    assert set(launching.features_for_ranks(32, 1)) <= set(large_partitions["grid"]["features"])
    assert not set(launching.features_for_ranks(32, 1)) <= set(defaults["grid"]["features"])
    sizes = {
        name: (partition["extras"]["nodes"], partition["extras"]["cores"])
        for name, partition in large_partitions.items()
    }
    assert sizes == {"clusterA": (16, 2), "clusterB": (16, 2), "grid": (32, 2)}


def test_jobs_run_side_by_side_only_where_site_and_campaign_say_so(
    sites: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_SIDE_BY_SIDE", "8")
    assert {partition["max_jobs"] for partition in partitions(sites / "virtual").values()} == {1}
    with (sites / "virtual" / "site.toml").open("a") as file:
        file.write("\n[partition.clusterA-apart]\nname = 'apart'\nside_by_side = true\n")
        file.write("description = 'Nodes with links of their own'\n")
    new_partitions = partitions(sites / "virtual")
    assert (new_partitions["apart"]["max_jobs"], new_partitions["clusterA"]["max_jobs"]) == (8, 1)
    assert new_partitions["apart"]["extras"]["side_by_side"] is True
    assert "side_by_side" not in new_partitions["clusterA"]["extras"]
    monkeypatch.delenv("ROUNDTRIP_SIDE_BY_SIDE")
    assert partitions(sites / "virtual")["apart"]["max_jobs"] == 1


def environment(name: str) -> dict[str, Any]:
    known = read_catalogue()
    toolchain, boost = known.toolchains[name], known.boosts["boost181"]
    return render.toolchain_environment("local", "x", toolchain, {}, {}, boost)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ROUNDTRIP_NPB", "ROUNDTRIP_OSU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path))
    return tmp_path


def test_suites_are_offered_where_somebody_built_them(store: Path) -> None:
    environ = environment("openmpi41-boost181")
    assert environ["features"] == ["mpi", "boost"]
    assert environ["extras"]["lacks"]["npb-upstream"] == f"build NPB 3.4 into {store}/npb/openmpi41"
    (store / "npb" / "openmpi41").mkdir(parents=True)
    suite_environ = environment("openmpi41-boost181")
    assert suite_environ["features"] == ["mpi", "boost", "npb-upstream"]
    other_environ = environment("openmpi41-boost174")
    assert other_environ["features"] == ["mpi", "boost"]
    assert "openmpi41-boost181 is enough" in other_environ["extras"]["lacks"]["npb-upstream"]


@pytest.mark.parametrize("name", ["smpi-boost174", "smpi-boost181"])
def test_a_simulator_says_so(store: Path, name: str) -> None:
    environ = environment(name)
    assert environ["features"] == ["mpi", "boost", "simulated"]
    assert "simulated" not in environment("openmpi41-boost181")["features"]


def test_a_simulator_says_how_others_programs_are_built_for_it_and_offers_them(store: Path) -> None:
    smpi_remedy = environment("smpi-boost181")["extras"]["lacks"]["osu"]
    assert smpi_remedy.startswith("build it in its source: LD=ld SMPI_PRETEND_CC=1 ./configure CC=")
    assert smpi_remedy.endswith(f"--prefix={store}/osu/smpi && make -k install")
    openmpi_remedy = environment("openmpi41-boost181")["extras"]["lacks"]["osu"]
    assert openmpi_remedy.startswith("build it in its source: ./configure CC=")
    (store / "osu" / "smpi").mkdir(parents=True)
    assert "osu" in environment("smpi-boost181")["features"]


def test_reframe_does_not_run_where_nothing_is_built(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environs = [environment("openmpi41-boost181")]
    assert render.built_environment_names(environs) == []
    assert capsys.readouterr().err == (
        f"site 'local' can run no check: no toolchain in {store}: `make setup`\n"
    )
    monkeypatch.setattr("sys.argv", ["reframe", "-c", "checks", "--run"])
    with pytest.raises(ConfigError, match="can run no check"):
        render.built_environment_names(environs)
    (store / "openmpi41-boost181").mkdir()
    (store / "openmpi41-boost181" / "toolchain.json").write_text("{}")
    assert render.built_environment_names(environs) == ["x"]
