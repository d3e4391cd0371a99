"""Lets ReFrame start local jobs from a folder with a blank in its name.

ReFrame 4.10 hands the absolute path of a job's script over as a command line, which is then split
at blanks (`reframe/core/schedulers/local.py`).  As a list of one argument it is not.
"""

import reframe.core.schedulers.local as local
import reframe.utility.osext as osext


class _WholeScript:
    """`osext` as the local scheduler sees it."""

    def __getattr__(self, name):
        return getattr(osext, name)

    @staticmethod
    def run_command_async(script, **options):
        """Start `script`, a path."""
        return osext.run_command_async([script], **options)


local.osext = _WholeScript()
