import pytest
from vclusterlib import UserError, spec
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
        assert spec.slurm_address(spec.nodes[1]) == f"{network}.2.1"


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


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (spec.parse_rtt, "2ms", 0.002),
        (spec.parse_rtt, "500us", 0.0005),
        (spec.parse_rtt, "0.1s", 0.1),
        (spec.parse_rtt, "0", 0),
        (spec.parse_rate, "1Gbit/s", 1e9),
        (spec.parse_rate, "10 Mbit/s", 1e7),
        (spec.parse_rate, "unlimited", 0),
        (spec.parse_bytes, "1MiB", 2**20),
        (spec.parse_bytes, "2048B", 2048),
        (spec.parse_loss, "0.1%", 0.001),
        (spec.parse_loss, "0", 0),
        (spec.parse_cut, "5s", 5),
    ],
)
def test_reads_quantities(parse, text, value):
    assert parse(text) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (spec.parse_rtt, "2", "write a number and one of us, ms, s"),
        (spec.parse_rtt, "101ms", "0 to 100ms"),
        (spec.parse_rtt, "-1ms", "write a number"),
        (spec.parse_rtt, "nanms", "write a number"),
        (spec.parse_rate, "1Gb", "Gbit/s"),
        (spec.parse_rate, "1bit/s", "64kbit/s"),
        (spec.parse_bytes, "1MB", "MiB"),
        (spec.parse_bytes, "100B", "2KiB"),
        (spec.parse_loss, "0.1", "%"),
        (spec.parse_loss, "60%", "50%"),
        (spec.parse_cut, "0s", "1ms"),
    ],
)
def test_refuses_quantities(parse, text, reason):
    with pytest.raises(UserError) as error:
        parse(text)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_shows_rates_and_sizes_as_people_write_them():
    assert spec.describe_rate(1e7) == "10 Mbit/s"
    assert spec.describe_rate(0) == "unlimited"
    assert spec.describe_bytes(64 * 2**20) == "64 MiB"
    assert spec.describe_bytes(1536) == "1.5 KiB"
