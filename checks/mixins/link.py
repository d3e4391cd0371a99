"""A launch holds a lease on the emulated link that it crosses, and fails if the link changed."""

import pathlib
import shlex

import reframe as rfm
from reframe.core.builtins import run_before
from reframe.core.exceptions import SanityError

from roundtrip.collect import link
from roundtrip.errors import UserError


class LeasedLink(rfm.RegressionTestPlugin):
    """Starts the launch under ``lease``, a command in the extras of a partition with such a link.

    link.json keeps the state of the link before and after.
    """

    #: Options of the lease that change the link from the site's settings.
    link_options = ()

    @run_before("run", always_last=True)
    def lease_the_link(self):
        self.lease = self.current_partition.extras.get("lease")
        if self.lease:
            holder = f"--for={shlex.quote(self.display_name)}"
            record = f"--record={link.FILE_NAME}"
            self.job.launcher.modifier = self.lease
            self.job.launcher.modifier_options = [*self.link_options, record, holder, "--"]
            self.keep_files = [*self.keep_files, link.FILE_NAME]

    @run_before("sanity")
    def require_declared_link(self):
        if not self.lease:
            return
        try:
            self.link = link.read(pathlib.Path(self.stagedir))
        except UserError as error:
            raise SanityError(str(error)) from None
        fault = link.fault(self.link) if self.link else "the launch left no record of its link"
        if fault:
            raise SanityError(fault)
