"""Statistics of launches: pure functions, no input or output."""

import os

# OpenBLAS, which numpy loads, would start threads that spin: a tenth of the processor time of a
# short command.  The variable must not reach the programs that are measured: `os.environ`, which
# `sites.site.Site` hands to them, does not get it.
if "OPENBLAS_NUM_THREADS" not in os.environ:
    os.putenv("OPENBLAS_NUM_THREADS", "1")
