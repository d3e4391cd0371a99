"""The files and scripts that are written for a cluster, without one."""

import pytest
from vclusterlib import UserError, network, slurmconf
from vclusterlib.link import LinkSettings, netem_script
from vclusterlib.spec import Spec
from vclusterlib.state import State

SMALL = Spec(nodes_a=2, nodes_b=1)


def test_slurm_conf_has_the_four_partitions(tmp_path):
    text = slurmconf.slurm_conf(SMALL, State(tmp_path / "x"))
    assert "PartitionName=clusterA Nodes=a[1-2] " in text
    assert "PartitionName=clusterB Nodes=b[1-1] " in text
    assert "PartitionName=grid Nodes=a[1-2],b[1-1] " in text
    assert "PartitionName=service Nodes=head " in text
    assert "NodeName=b1 NodeAddr=10.78.2.1 NodeHostname=b1 Feature=clusterB" in text
    assert "AccountingStorageType=accounting_storage/none" in text
    assert "{" not in text


def test_accounting_numbers_the_jobs_of_each_boot_apart(tmp_path):
    text = slurmconf.slurm_conf(Spec(accounting=True), State(tmp_path / "x"), first_job=200001)
    assert "AccountingStorageType=accounting_storage/slurmdbd" in text
    assert "FirstJobId=200001" in text


def test_keys_are_for_their_owner_only_and_stay_the_same(tmp_path):
    state = State(tmp_path / "x")
    spec = Spec(accounting=True)
    slurmconf.write_files(spec, state)
    key = state.etc / "munge" / "munge.key"
    key_bytes = key.read_bytes()
    slurmconf.write_files(spec, state)
    assert key.read_bytes() == key_bytes
    assert len(key_bytes) == 128
    assert key.stat().st_mode & 0o777 == 0o400
    assert key.parent.stat().st_mode & 0o777 == 0o700
    assert (state.etc / "slurm" / "slurmdbd.conf").stat().st_mode & 0o777 == 0o600


def test_hosts_name_the_fabric_even_where_slurm_does_not_use_it():
    assert "10.78.2.1 b1 b1-f\n" in slurmconf.hosts_file(SMALL)
    hosts = slurmconf.hosts_file(Spec(nodes_a=1, nodes_b=1, fabric="hub"))
    assert "10.77.2.1 b1\n10.78.2.1 b1-f\n" in hosts


def test_every_node_knows_all_others_and_the_head_for_good():
    lines = network.node_script(SMALL, SMALL.nodes[0]).splitlines()
    neighbours = [line for line in lines if line.startswith("neigh")]
    assert len(neighbours) == 3
    assert all(line.endswith("nud permanent") for line in neighbours)
    assert not any("10.78.1.1 " in line for line in neighbours)


def test_a_hub_joins_the_nodes_by_the_link_and_not_by_a_bridge():
    script = network.head_script(Spec(nodes_a=1, nodes_b=1, fabric="hub"), "userspace")
    assert "f-a1 master" not in script
    assert "m-a1 master brM" in script
    assert "wA" not in script


def test_the_bridges_are_joined_by_the_chosen_engine():
    assert "link add pA type veth peer name pB" in network.head_script(SMALL, "netem")
    assert "link add wA type veth peer name pA" in network.head_script(SMALL, "userspace")


def test_netem_delays_half_the_rtt_in_each_direction():
    lines = netem_script(LinkSettings(rtt=0.002, rate=1e9, loss=0.001, queue=2**20))
    # 1 MiB that waits and 125 000 B that travel, in packets
    assert lines[0] == (
        "qdisc replace dev pA root netem delay 1000.000us limit 775 rate 1000000000bit loss 0.1%"
    )
    assert [line.split()[3] for line in lines] == ["pA", "pB"]
    assert netem_script(LinkSettings(up=False))[0].endswith("loss 100%"), "it is down"


def test_the_link_sees_single_packets_where_super_frames_would_be_coarse():
    assert not LinkSettings(rtt=0.002).needs_packets
    assert not LinkSettings(rate=10e9).needs_packets
    assert LinkSettings(rate=1e8).needs_packets
    assert LinkSettings(loss=0.001).needs_packets


def test_files_are_laid_over_those_of_slurm(tmp_path):
    folder, state = tmp_path / "mine", State(tmp_path / "x")
    folder.mkdir()
    state.path.mkdir(parents=True)
    (folder / "slurm.conf").write_text(
        "TopologyPlugin=topology/tree # of switches\n\n"
        "NodeName=b1 CoresPerSocket=8 Feature=clusterB,fat\n"
        "PartitionName=grid MaxTime=120\n"
        "PartitionName=urgent Nodes=a1 PriorityTier=10\n"
    )
    (folder / "topology.conf").write_text("SwitchName=s1 Nodes=a[1-2],b1\n")
    slurmconf.copy_overlay(str(folder), state)
    slurmconf.write_files(SMALL, state)
    text = (state.etc / "slurm" / "slurm.conf").read_text()
    assert "\nTopologyPlugin=topology/tree\n" in text
    assert "topology/none" not in text
    node = "NodeName=b1 NodeAddr=10.78.2.1 NodeHostname=b1"
    assert f"{node} Feature=clusterB,fat CoresPerSocket=8" in text
    assert "PartitionName=grid Nodes=a[1-2],b[1-1] MaxTime=120 State=UP Default=YES" in text
    assert text.endswith("PartitionName=urgent Nodes=a1 PriorityTier=10\n")
    assert (state.etc / "slurm" / "topology.conf").read_text().startswith("SwitchName=s1")
    slurmconf.copy_overlay("", state)
    slurmconf.write_files(SMALL, state)
    assert not (state.etc / "slurm" / "topology.conf").exists()
    assert "urgent" not in (state.etc / "slurm" / "slurm.conf").read_text()
    with pytest.raises(UserError, match=r"there is no \*\.conf in it"):
        slurmconf.copy_overlay(str(tmp_path), state)
