"""The emulated link that a launch crosses: its lease, and the round-trip time that a check sets."""

import pathlib
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import deferrable, parameter, run_after, run_before
from reframe.core.exceptions import SanityError

from roundtrip.errors import UserError
from roundtrip.measure import records


class LeasedLink(rfm.RegressionTestPlugin):
    """Runs the launch under the command that the partition's extras name (``lease``).

    The command keeps others from changing the link, and writes its state before and after to
    link.json.  The launch fails if the two differ.
    """

    #: Options of the lease that change the link from the site's settings.
    link_options = ()

    @run_before("run", always_last=True)
    def set_lease_command(self):
        self.lease_command = self.current_partition.extras.get("lease")
        if self.lease_command:
            holder = f"--for={shlex.quote(self.display_name)}"
            record = f"--record={records.LINK_FILE}"
            self.job.launcher.modifier = self.lease_command
            self.job.launcher.modifier_options = [*self.link_options, record, holder, "--"]
            self.keep_files = [*self.keep_files, records.LINK_FILE]

    @run_before("sanity")
    def assert_declared_link(self):
        if not self.lease_command:
            return
        try:
            self.link_record = records.read_link_record(pathlib.Path(self.stagedir))
        except UserError as error:
            raise SanityError(str(error)) from None
        if not self.link_record:
            raise SanityError("the launch left no record of its link")
        from roundtrip.measure import launch  # listing checks must not load this

        if fault := launch.link_failure_reason(self.link_record):
            raise SanityError(fault)


class EmulatedWan(rfm.RegressionTestPlugin):
    """Sets the leased link (mixin LeasedLink), and checks that a launch crossed it.

    A partition has the feature `wan`, and in its extras the command that leases the link
    (``lease``) and the scheduler options for nodes on both sides of it (``across``; ``{nodes}`` in
    them stands for the number of nodes on each side).
    The check's sanity function must call `assert_link_used`.
    """

    #: Round-trip time added to the link, ms.
    wan_rtt = parameter([0.0, 1.0, 2.0, 4.0], fmt=lambda ms: f"{ms:g}", loggable=True)

    @run_after("init", always_last=True)
    def set_wan_features(self):
        self.needs, self.partition_features = [], ()  # ranks are on both sides of the link
        self.set_required_features("wan")

    @property
    def emulation(self):
        return {"wan_rtt_ms": self.wan_rtt}

    @property
    def link_options(self):
        return [f"--rtt={self.wan_rtt:g}ms"]

    @run_before("run")
    def set_nodes_across_link(self):
        across = self.current_partition.extras["across"]
        self.job.options += [option.format(nodes=self.num_hosts // 2) for option in across]

    @deferrable
    def assert_link_used(self, half_round_trip_s):
        """Assert that the link had the declared delay, and that the time, s, is no shorter."""
        return sn.all(
            [
                sn.assert_eq(
                    self.link_record["asked"]["rtt_ms"],
                    float(self.wan_rtt),
                    msg="the link was asked for an RTT of {0} ms instead of {1}",
                ),
                sn.assert_ge(
                    half_round_trip_s,
                    self.wan_rtt / 2e3,
                    msg="half round trip of {0} s is shorter than the emulated {1} s: the traffic "
                    "did not cross the link",
                ),
            ]
        )

    @deferrable
    def assert_link_explains_time(self, half_round_trip_s):
        """Assert that half a round trip took no longer than the slowest ping over the link.

        The pings ran before and after the launch.
        """
        from roundtrip.measure import launch  # listing checks must not load this

        slowest = launch.max_one_way_ms(self.link_record)
        return slowest is None or sn.assert_le(
            half_round_trip_s,
            slowest / 1e3,
            msg="half round trip of {0} s is more than the {1} s that the link explains: it was "
            "slower than its RTT says, or the machine was busy",
        )
