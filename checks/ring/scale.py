"""The ring round as many nodes as the partition has."""

from reframe.core.builtins import parameter, run_after

from roundtrip.sites.launching import ONE_PER_NODE

from ..mixins.scale import Scale
from ..test_selection import simple_test
from .ring import InterfaceOption, RingBase


@simple_test
class RingAtScale(Scale, InterfaceOption, RingBase):
    """The ring with a rank on each node; RingNetwork has two nodes."""

    descr = "Ring round many nodes: regions by message, by MPI"

    transport = parameter(["mpi"], type=str, loggable=True)
    #: `one-per-node`: one rank on each node.
    placement = parameter([ONE_PER_NODE], type=str, loggable=True)

    @run_after("init")
    def place_ranks(self):
        self.skip_if(self.scale == "pair", "it takes two nodes: see nodes_2, and RingNetwork")
        self.need_the_scale()
