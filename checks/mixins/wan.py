"""A link with an emulated round-trip time between the two ends of a measurement."""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, run_after, run_before


class EmulatedWan(rfm.RegressionTestPlugin):
    """Sets the link before the run, keeps its statistics, and knows what they must show.

    A partition offers `wan` by a feature, and says in its extras how to control the link
    (``wan_control``) and how to get nodes on both sides of it (``across``, scheduler options;
    ``{nodes}`` in them stands for the number of nodes on each side).
    The check's sanity function must ask `link_was_emulated`.
    """

    #: Round-trip time added to the link, ms.
    wan_rtt = parameter([0.0, 1.0, 2.0, 4.0], fmt=lambda ms: f"{ms:g}", loggable=True)

    @run_after("init", always_last=True)
    def need_a_wan(self):
        self.needs = ["wan"]
        self.valid_systems = ["+wan"]
        self.keep_files = [*self.keep_files, "wan.json"]

    @property
    def emulated(self):
        return {"wan_rtt_ms": self.wan_rtt}

    @run_before("run")
    def cross_the_link(self):
        control = self.current_partition.extras["wan_control"]
        across = self.current_partition.extras["across"]
        self.job.options += [option.format(nodes=self.num_hosts // 2) for option in across]
        self.prerun_cmds = [f"{control} --rtt {self.wan_rtt:g}ms || exit 1"]
        self.postrun_cmds = [f"{control} --stats --reset > wan.json"]

    def link_was_emulated(self, half_round_trip_s):
        """Deferred: the measured latency holds the emulated delay, and frames were on time."""
        late = sn.extractall(
            r'"late_us_mean": (?P<us>\S+?),', f"{self.stagedir}/wan.json", "us", float
        )
        least = self.wan_rtt / 2e3
        return sn.all(
            [
                sn.assert_ge(
                    half_round_trip_s,
                    least,
                    msg="half round trip of {0} s is shorter than the emulated {1} s: the traffic "
                    "did not cross the link",
                ),
                sn.assert_lt(sn.max(late), 500, msg="the link was late by {0} us on average"),
            ]
        )
