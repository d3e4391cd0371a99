"""The NAS Parallel Benchmarks on as many ranks as fit on the partition.

If a benchmark cannot run on all cores, such as on 24 if it needs a power of two, it runs on the
largest legal number of ranks that is the same on all nodes.
"""

from reframe.core.builtins import parameter, run_after

from roundtrip.sites.launching import ALL_CORES
from roundtrip.studies import npb

from ..mixins.scale import Scale
from ..test_selection import simple_test
from .npb import NPBBase
from .wan import AcrossTheWan


class FittingRanks(Scale):
    """Starts the largest legal number of ranks."""

    def legal_rank_count(self, nodes, max_ranks):
        legal = (
            count
            for count in range(max_ranks - max_ranks % nodes, 0, -nodes)
            if npb.legal_ranks(self.benchmark, self.problem_class, count)
        )
        return next(legal, 0)


@simple_test
class NPBAtScale(FittingRanks, NPBBase):
    """One benchmark on all nodes of a scale; check NPB runs on fixed numbers of ranks."""

    descr = "NAS Parallel Benchmarks on all ranks that the partition has room for"

    # Each value here is one more test that ReFrame may instantiate in a session and not run.
    problem_class = parameter(["A", "B", "C"], type=str, loggable=True)
    #: `all-cores`: a rank on every core of the nodes.
    placement = parameter([ALL_CORES], type=str, loggable=True)

    @run_after("init")
    def place_ranks(self):
        self.need_the_scale()


@simple_test
class NPBWanAtScale(FittingRanks, AcrossTheWan):
    """One benchmark on full nodes, half in each cluster; the study had 16 ranks in each."""

    descr = "NAS Parallel Benchmarks over an emulated WAN, on all ranks that there is room for"

    problem_class = parameter(["A", "B"], type=str, loggable=True)
    #: `all-cores`: a rank on every core of the nodes.
    placement = parameter([ALL_CORES], type=str, loggable=True)
    node_multiple = 2  # equal numbers in both clusters

    @run_after("init")
    def place_ranks(self):
        self.skip_if(self.scale in ("pair", "node"), "it takes a node in each cluster: see NPBWan")

    @run_after("init", always_last=True)
    def need_a_wan(self):
        self.need_the_scale("wan")
