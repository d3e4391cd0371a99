"""The NAS Parallel Benchmarks on two clusters, over a link with an emulated round-trip time.

Matsuda, Kudoh and Ishikawa, "Evaluation of MPI implementations on grid-connected clusters using an
emulated WAN environment" (CCGrid 2003).  The check NPB measures a single cluster.
"""

import reframe.utility.sanity as sn
from reframe.core.builtins import deferrable, parameter, run_after, sanity_function

from roundtrip.sites import launching

from ..mixins.wan import EmulatedWan
from ..test_selection import simple_test
from .npb import NPBBase


class AcrossTheWan(EmulatedWan, NPBBase):
    """One benchmark with half of the ranks in each cluster.  Derived classes set their number."""

    #: Round-trip time added to the link, ms, as in the study.
    wan_rtt = parameter([0, 1, 2, 3, 4], loggable=True)

    @property
    def emulation(self):
        return {**NPBBase.emulation.fget(self), "wan_rtt_ms": self.wan_rtt}

    @sanity_function
    def link_is_whole(self):
        return sn.all([self.verified(), self.crossed_the_link(self.time_per_iteration())])

    @deferrable
    def time_per_iteration(self):
        """Return seconds an iteration, each of which needs data from the other cluster."""
        rounding = 0.005  # NPB prints two decimals
        return (self.result.seconds + rounding) / max(self.result.iterations, 1)


@simple_test
class NPBWan(AcrossTheWan):
    """One benchmark on two clusters, on a fixed number of ranks."""

    descr = "NAS Parallel Benchmarks over an emulated WAN"

    # Each value here is one more test that ReFrame may instantiate in a session and not run.
    problem_class = parameter(["S", "W", "A", "B"], type=str, loggable=True)
    #: Ranks of both clusters together; the study had 16 in each.
    ranks = parameter([2, 4, 32], type=int, loggable=True)
    #: `one-per-node`: each rank on a node; `node-per-cluster`: each cluster is one node, so that
    #: ranks reach each other in memory inside it and by the network between.
    placement = parameter(["one-per-node", "node-per-cluster"], type=str, loggable=True)

    @run_after("init")
    def place_ranks(self):
        self.start(self.ranks)
        in_memory = self.placement == "node-per-cluster"
        self.skip_if(
            in_memory and self.ranks == 2, "with one rank a cluster each is on a node anyway"
        )
        self.num_tasks_per_node = self.ranks // 2 if in_memory else 1

    @run_after("init", always_last=True)
    def need_a_wan(self):
        # Half of the nodes are in each cluster.
        self.need("wan", *launching.features_for_ranks(self.ranks, self.num_tasks_per_node))
