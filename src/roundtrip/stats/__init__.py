"""Statistics of launches: pure functions, no input or output."""

import os

# OpenBLAS, which numpy loads, would start threads that spin: a tenth of the processor time of a
# short command.  The variable must not reach the programs that are measured.
if "OPENBLAS_NUM_THREADS" not in os.environ:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import numpy as np  # noqa: F401

    del os.environ["OPENBLAS_NUM_THREADS"]
