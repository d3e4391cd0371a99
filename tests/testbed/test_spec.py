from __future__ import annotations

import pytest
from vclusterlib.errors import UserError
from vclusterlib.spec import Spec, parse_nodes


def test_nodes_have_names_addresses_and_macs_of_their_own():
    nodes = Spec(nodes_a=16, nodes_b=16).nodes
    names = [nodes[index].name for index in (0, 15, 16, 31)]
    assert names == ["a1", "a16", "b1", "b16"]
    for attribute in ("fabric_address", "management_address", "fabric_mac", "management_mac"):
        assert len({getattr(node, attribute) for node in nodes}) == 32


def test_slurm_has_a_network_of_its_own_beside_a_hub_only():
    for fabric, network in (("wan", "10.78"), ("hub", "10.77")):
        spec = Spec(nodes_a=1, nodes_b=1, fabric=fabric)
        assert spec.head_address == f"{network}.0.1"
        assert spec.address(spec.nodes[1]) == f"{network}.2.1"


def test_survives_json():
    spec = Spec(nodes_a=3, accounting=True, fabric="hub", shares=("/tmp/x",))
    assert Spec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    "fields",
    [
        {"nodes_a": 0},
        {"nodes_b": 17},
        {"cpus": 0},
        {"memory": 1},
        {"cpu_weight": 10001},
        {"cpu_weight": 100, "rootless": True},
        {"fabric": "hub", "engine": "netem"},
    ],
)
def test_refuses(fields):
    with pytest.raises(UserError):
        Spec(**fields)


def test_reads_node_counts():
    assert parse_nodes("4+12") == (4, 12)
    for text in ("8", "4+", "4 + 4", "-1+2", "a+b"):
        with pytest.raises(UserError, match=r"4\+4"):
            parse_nodes(text)
