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
    def assert_launch_over_link(self):
        half_trip_s = self.min_half_round_trip_s()
        return sn.all(
            [
                self.assert_launch_complete(),
                self.assert_link_used(half_trip_s),
                self.assert_link_explains_time(half_trip_s),
            ]
        )

    @deferrable
    def min_half_round_trip_s(self):
        """Return the smallest half-round-trip time of all samples, s: the least disturbed one."""
        from roundtrip.measure import samples

        return samples.read_rows(pathlib.Path(self.stagedir) / "samples.csv")["value"].min()
