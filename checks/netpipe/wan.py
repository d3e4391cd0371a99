"""NetPIPE between two clusters, over a link with an emulated round-trip time."""

import json
import pathlib

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import deferrable, parameter, sanity_function

from ..mixins.wan import EmulatedWan
from .netpipe import NetPIPE


@rfm.simple_test
class NetPIPEWan(EmulatedWan, NetPIPE):
    """One rank in each cluster; the variants and all else as in NetPIPE."""

    descr = "NetPIPE over an emulated WAN"
    placement = parameter(["one-per-node"], type=str, loggable=True)
    mode = parameter(["pingpong"], type=str, loggable=True)

    @sanity_function
    def link_is_whole(self):
        return sn.all([self.launch_is_whole(), self.link_was_emulated(self.shortest_time())])

    @deferrable
    def shortest_time(self):
        """Smallest median half-round-trip time of the launch, s."""
        run = json.loads((pathlib.Path(self.stagedir) / "run.json").read_text())
        return min(point["median_s"] for point in run["points"] if point["samples"])
