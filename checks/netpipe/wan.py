"""NetPIPE between two clusters, over a link with an emulated round-trip time."""

import pathlib

import reframe.utility.sanity as sn
from reframe.core.builtins import deferrable, parameter, sanity_function

from ..mixins.wan import EmulatedWan
from ..test_selection import simple_test
from .netpipe import NetPIPE


@simple_test
class NetPIPEWan(EmulatedWan, NetPIPE):
    """One rank in each cluster; otherwise as NetPIPE."""

    descr = "NetPIPE over an emulated WAN"
    placement = parameter(["one-per-node"], type=str, loggable=True)
    mode = parameter(["pingpong"], type=str, loggable=True)

    @sanity_function
    def link_is_whole(self):
        half_trip_s = self.shortest_time()
        return sn.all(
            [
                self.launch_is_whole(),
                self.crossed_the_link(half_trip_s),
                self.explained_by_the_link(half_trip_s),
            ]
        )

    @deferrable
    def shortest_time(self):
        """Return the smallest half-round-trip time, s: one pass is undisturbed on any machine."""
        from roundtrip.measure import samples

        return samples.read_rows(pathlib.Path(self.stagedir) / "samples.csv")["value"].min()
