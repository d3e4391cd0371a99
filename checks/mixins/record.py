"""What a launch leaves behind, and when it counts as one."""

import json
import pathlib

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, run_before, sanity_function, variable

from . import local_jobs, steady_clock  # noqa: F401  both mend ReFrame while it launches
from .link import LeasedLink
from .pairs import OnPairs
from .simulation import Simulation


class Recorded(OnPairs, LeasedLink, Simulation):
    """Keeps samples.csv, run.json and case.json, and trusts nothing but the end marker.

    The check sets `study` and `num_tasks`, and has `num_hosts` (mixin Placement).  What is emulated
    on a partition is in its extras (``emulated``, a mapping).  A launch has its nodes for itself.
    """

    #: What this check itself emulates.
    emulated = {}

    #: The study this check belongs to: a folder of checks/ and a section of the report.
    study = variable(str, loggable=True)

    #: Build what the check needs and stop there: ``reframe -c checks -R -S build_only=yes -r``.
    build_only = variable(bool, value=False)

    #: The variables that a campaign may set: those that neither ReFrame nor a mixin declares.
    settable = variable(typ.List[str], value=[])

    @run_after("init")
    def name_settable(self):
        mixins = [one for one in type(self).__mro__ if one.__module__.startswith(f"{__package__}.")]
        others = (name for one in (rfm.RegressionTest, *mixins) for name in one.var_space)
        self.settable = sorted(set(type(self).var_space).difference(others))

    @run_after("init")
    def keep_samples(self):
        self.exclusive_access = True
        self.keep_files = ["samples.csv", "run.json", "case.json"]
        self.executable_opts += ["--samples", "samples.csv"]

    @run_before("run")
    def stop_after_build(self):
        self.skip_if(self.build_only, "built; not launched, as build_only says")

    @run_before("run")
    def describe_case(self):
        part, environ = self.current_partition, self.current_environ
        parameters = {name: getattr(self, name) for name in type(self).param_space.params}
        parameters.pop("pair", None)  # which the hosts say
        parameters |= self.pair_facts
        case = {
            "schema": 1,
            "study": self.study,
            "check": type(self).__name__.split("%")[0].split("_")[0],
            "display_name": self.display_name,
            "hash": self.hashcode,
            "parameters": {key: value for key, value in parameters.items() if value is not None},
            "system": self.current_system.name,
            "partition": part.name,
            "environ": environ.name,
            "features": [*part.features, *environ.features],
            "extras": {**part.extras, **environ.extras},
            "num_tasks": self.num_tasks,
            "num_nodes": self.num_hosts,
            "emulated": {**part.extras.get("emulated", {}), **self.emulated} or None,
            "simulated": self.simulated,
        }
        if self.pair_hosts:
            case["hosts"] = self.pair_hosts
        (pathlib.Path(self.stagedir) / "case.json").write_text(json.dumps(case, indent=1))

    @sanity_function
    def launch_is_whole(self):
        marker = r"^ROUNDTRIP COMPLETE ranks=(?P<ranks>\d+) hosts=(?P<hosts>\d+)$"
        ranks = sn.extractsingle(marker, self.stdout, "ranks", int)
        hosts = sn.extractsingle(marker, self.stdout, "hosts", int)
        return sn.all(
            [
                sn.assert_found(marker, self.stdout, msg="no end marker: it died or was killed"),
                sn.assert_eq(ranks, self.num_tasks, msg="ran with {0} ranks instead of {1}"),
                sn.assert_eq(hosts, self.num_hosts, msg="ran on {0} hosts instead of {1}"),
            ]
        )
