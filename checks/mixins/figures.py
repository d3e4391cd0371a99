"""The figures of a launch as ReFrame's performance variables."""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before


class Figures(rfm.RegressionTestPlugin):
    """Lets the check's `study` summarise samples.csv of the launch."""

    @run_before("performance")
    def set_perf_variables(self):
        # Imported here: listing checks must not load the reader of samples.
        from roundtrip import studies
        from roundtrip.measure import samples
        from roundtrip.studies import derivation

        rows = samples.read_rows(f"{self.stagedir}/samples.csv")
        figures = derivation.summarise(studies.get(self.study), rows)
        self.perf_variables = {
            name: sn.make_performance_function(lambda value=value: value, unit)
            for name, (value, unit) in figures.items()
        }
