# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.packages.mvapich.package import Mvapich as BuiltinMvapich

from spack.package import *


class Mvapich(BuiltinMvapich):
    """MVAPICH as builtin of packages release v2025.11 has it, and two variants more.

    Its configure step reads them and never declares them: without them it concretizes and then
    fails to configure.
    """

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
        values=("none", "pmi", "pmi2", "pmix"),
        multi=False,
        description="PMI that ranks speak unless told otherwise; none: as configure chooses",
    )

    depends_on("pmix", when="pmi_version=pmix")
    conflicts("process_managers=slurm", when="pmi_version=none", msg="say which PMI srun offers")

    @property
    def process_manager_options(self):
        """Options of configure without the builtin's `--with-pmi=slurm`.

        It comes last, so PMI-1 would be chosen whatever `pmi_version` says.
        """
        builtin = super().process_manager_options
        return [option for option in builtin if option != "--with-pmi=slurm"]
