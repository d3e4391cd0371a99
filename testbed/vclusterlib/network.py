"""Links, addresses and neighbours of the cluster, as scripts for ``ip -batch``; and running them.

  wan   f-a1..f-aN on bridge brA, f-b1..f-bM on bridge brB; pA and pB end the WAN link
        userspace: pA = wA and pB = wB are veth pairs, our link forwards between wA and wB
        netem:     pA = pB are one veth pair, each with a netem queue
  hub   f-a1..f-bM end in our link, which is the shared medium; bridge brM for Slurm
A node's own ends are eth1 (fabric) and eth0 (management, hub only).
Neighbours are permanent: the limit on learnt ones (gc_thresh3) is shared by all network namespaces
of the machine, and 32 nodes that talk to each other exceed it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from vclusterlib import VclusterError
from vclusterlib.spec import Node, Spec

NETNS_FOLDER = Path("/run/netns")
_BRIDGE_OPTIONS = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
_HEAD_MAC_BY_BRIDGE = {
    "brA": "02:78:00:00:00:01",
    "brB": "02:78:00:00:00:02",
    "brM": "02:77:00:00:00:01",
}


def head_script(spec: Spec, engine: str) -> str:
    """The script for all links in the head's namespace, and for the nodes' empty namespaces."""
    lines = ["link set lo up", *(f"netns add {node.name}" for node in spec.nodes)]
    bridges = ("brM",) if spec.has_management_network else ("brA", "brB")
    for name in bridges:
        lines += [
            f"link add {name} address {_HEAD_MAC_BY_BRIDGE[name]} {_BRIDGE_OPTIONS}",
            _up_line(name),
        ]
    for node in spec.nodes:
        port = f"f-{node.name}"
        lines.append(_veth_line(port, "eth1", node.fabric_mac, node))
        if spec.has_management_network:
            card = f"m-{node.name}"
            lines += [_up_line(port), _veth_line(card, "eth0", node.management_mac, node)]
            lines += [f"link set {card} master brM", _up_line(card)]
        else:
            lines += [f"link set {port} master {_bridge_of_node(node)}", _up_line(port)]
    if spec.fabric == "wan":
        lines += _wan_lines(engine)
    lines.append(f"addr add {spec.head_address}/16 dev {bridges[0]}")
    lines += _neighbour_lines(spec, None, bridges[0], spec.has_management_network)
    return "\n".join(lines) + "\n"


def node_script(spec: Spec, node: Node) -> str:
    """The script for addresses and neighbours inside one node."""
    lines = ["link set lo up", f"addr add {node.fabric_address}/16 dev eth1", _up_line("eth1")]
    if spec.has_management_network:
        lines += [f"addr add {node.management_address}/16 dev eth0", _up_line("eth0")]
        lines += _neighbour_lines(spec, node, "eth0", True)
    lines += _neighbour_lines(spec, node, "eth1", False)
    return "\n".join(lines) + "\n"


def insert_link_script(node: Node) -> str:
    """The script that puts two devices between a node's port and its bridge, for a link to join."""
    name, bridge = node.name, _bridge_of_node(node)
    lines = [f"link add x-{name} type veth peer name y-{name}", f"link set f-{name} nomaster"]
    lines += [f"link set y-{name} master {bridge}", _up_line(f"x-{name}"), _up_line(f"y-{name}")]
    return "\n".join(lines) + "\n"


def remove_link_script(node: Node) -> str:
    """The script that reverts `insert_link_script`."""
    return f"link del x-{node.name}\nlink set f-{node.name} master {_bridge_of_node(node)}\n"


def _bridge_of_node(node: Node) -> str:
    return "brA" if node.cluster == 1 else "brB"


def _up_line(device: str) -> str:
    """The line that sets a device up, without an automatic IPv6 address, which causes traffic."""
    return f"link set dev {device} addrgenmode none up"


def _veth_line(outer: str, inner: str, mac: str, node: Node) -> str:
    return f"link add {outer} type veth peer name {inner} address {mac} netns {node.name}"


def _wan_lines(engine: str) -> list[str]:
    if engine == "netem":
        lines = ["link add pA type veth peer name pB"]
    else:
        lines = ["link add wA type veth peer name pA", "link add wB type veth peer name pB"]
        lines += [_up_line("wA"), _up_line("wB")]
    lines += ["link set pA master brA", "link set pB master brB"]
    return [*lines, _up_line("pA"), _up_line("pB")]


def _neighbour_lines(
    spec: Spec, local_node: Node | None, device: str, management: bool
) -> list[str]:
    """The lines that add a permanent neighbour for each other node, and for the head."""
    others = [node for node in spec.nodes if node != local_node]
    if management:
        entries = [(node.management_address, node.management_mac) for node in others]
    else:
        entries = [(node.fabric_address, node.fabric_mac) for node in others]
    if local_node and management == spec.has_management_network:
        entries.append((spec.head_address, _HEAD_MAC_BY_BRIDGE["brM" if management else "brA"]))
    place = f"dev {device} nud permanent"
    return [f"neigh replace {address} lladdr {mac} {place}" for address, mac in entries]


def run_batch(program: str, script: str, namespace: str | None = None) -> None:
    """Run a script by ``ip -batch`` or ``tc -batch``; VclusterError has the first error."""
    command = [program, *(["-n", namespace] if namespace else []), "-batch", "-"]
    process = subprocess.run(command, input=script, capture_output=True, text=True)
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no reason given"])[0]
        raise VclusterError(f"{program} -batch failed in {namespace or 'the head'}: {reason}")


def build_network(spec: Spec, engine: str) -> None:
    """Make the whole network; called once by the head's first process."""
    NETNS_FOLDER.mkdir(parents=True, exist_ok=True)
    run_batch("ip", head_script(spec, engine))
    for node in spec.nodes:
        run_batch("ip", node_script(spec, node), node.name)


def segment_in_software(devices: Iterable[str], on: bool, namespace: str | None = None) -> None:
    """With `on`, frames leave these devices one MTU at a time, not as 64 KiB super-frames."""
    for device in devices:
        offload = "off" if on else "on"
        command = ["ethtool", "-K", device, "tso", offload, "gso", offload]
        if namespace:
            command = ["nsenter", f"--net={NETNS_FOLDER / namespace}", *command]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            raise VclusterError(f"ethtool {device}: {process.stderr.strip()}")


def limit_card_rates(spec: Spec, rate: float) -> None:
    """Limit each card of a hub to `rate` bit/s, one frame at a time.

    The card's queue blocks a sender, where the hub's buffer would overflow.  It adds no delay: an
    idle card sends a frame at once.
    """
    line = f"qdisc replace dev eth1 root tbf rate {rate:.0f}bit burst 1600 limit 60000\n"
    for node in spec.nodes:
        run_batch("tc", line, node.name)
