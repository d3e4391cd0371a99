"""All patches of ReFrame 4.10's modules, for problems without a public interface.

* Time.  ReFrame takes differences of `time.time()`: if the clock is set back by two hours, it
  sleeps two hours before it polls a job again (`frontend/executors/policies.py`); if the clock is
  set ahead, it ends local jobs for their time limit (`core/schedulers/local.py`).  An execution
  policy cannot be registered, and builds always use the scheduler "local".
* Blanks in paths.  ReFrame passes the path of a local job's script as a command line, which is then
  split at blanks (`core/schedulers/local.py`).
* Warnings.  Each test has a deprecated variable, and ReFrame walks the whole call stack twice to
  locate the warning about it, which it then suppresses (`core/warnings.py`): more than half of the
  time of a listing.  With the patch, it does not locate a suppressed warning.
"""

import time
import warnings

import reframe.core.schedulers.local as local
import reframe.frontend.executors.policies as policies
import reframe.utility.osext as osext
from reframe.core import fields, variables
from reframe.core.warnings import ReframeDeprecationWarning, user_deprecation_warning

_EPOCH_OF_MONOTONIC = time.time() - time.monotonic()


class _SteadyClock:
    """`time`, with a wall clock that ignores later changes of the system's clock."""

    def __getattr__(self, name):
        return getattr(time, name)

    @staticmethod
    def time():
        """Seconds since the epoch."""
        return _EPOCH_OF_MONOTONIC + time.monotonic()


class _UnsplitScriptPath:
    """Stands for the module `osext` in the local scheduler: a script's path is not split."""

    def __getattr__(self, name):
        return getattr(osext, name)

    @staticmethod
    def run_command_async(script, **options):
        """Start the script at the path `script`, which may have blanks."""
        return osext.run_command_async([script], **options)


def _warn_unless_suppressed(*arguments, **options):
    action, _, category, *_ = warnings.filters[0]
    if (action, category) != ("ignore", ReframeDeprecationWarning):
        user_deprecation_warning(*arguments, **options)


def _patch_module(module, name, substitute):
    """Replace a name of a module, if this ReFrame has it there."""
    if hasattr(module, name):
        setattr(module, name, substitute)


for _module in (local, policies):
    _patch_module(_module, "time", _SteadyClock())
_patch_module(local, "osext", _UnsplitScriptPath())
for _module in (fields, variables):
    _patch_module(_module, "user_deprecation_warning", _warn_unless_suppressed)
