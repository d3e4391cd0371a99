from spack_repo.builtin.packages.mvapich.package import Mvapich as BuiltinMvapich

from spack.package import *


class Mvapich(BuiltinMvapich):
    """Builtin MVAPICH (packages release v2025.11) with the two variants that its configure step
    reads and never declares; without them it concretizes and then fails to configure."""

    variant(
        "ch3_rank_bits",
        default="32",
        values=("16", "32"),
        multi=False,
        description="Bits of a rank in message headers (no effect on the ch4 device)",
    )
    variant(
        "pmi_version",
        default="none",
        values=("none", "simple", "pmi1", "pmi2", "pmix"),
        multi=False,
        description="PMI to configure with; none: what the process manager implies",
    )

    depends_on("pmix", when="pmi_version=pmix")
