"""What every site shares: polling, logging, the results database, and launchers of our own.

Chained before a site's file: ``-C reframe/settings.py -C site-configs/SITE/reframe.py``
(``. site-configs/activate SITE`` does it).  It also loads without Roundtrip.
"""

import contextlib
import os

from reframe.core.backends import register_launcher
from reframe.core.exceptions import ReframeError
from reframe.core.launchers import JobLauncher


class Smpirun(JobLauncher):
    """SimGrid's SMPI: all ranks in one process, on the platform that the check writes beside it."""

    def command(self, job):
        """The words of the command, without the launcher's options, which ReFrame appends."""
        platform_options = ["-platform", "platform.xml", "-hostfile", "hosts.txt"]
        log_options = ["--log=root.thres:critical", "--log=smpi_pmpi.thres:warning"]  # of MPI_Abort
        return ["smpirun", "-np", str(job.num_tasks), *platform_options, *log_options]


with contextlib.suppress(ReframeError):  # this process has read it before, and keeps launchers
    register_launcher("smpirun")(Smpirun)

_runs_folder = os.environ.get("ROUNDTRIP_RUNS", "runs")

site_configuration = {
    "general": [
        {
            # Polling begins at 10/s and slows down. The stock minimum of 0.1/s notices the end of
            # a job up to 10 s late; 10/s for ever takes an eighth of a processor from what is
            # measured on the same machine, and bothers a Slurm controller.
            "poll_rate_min": 1,
            "perf_info_level": "info",
            "resolve_module_conflicts": False,
            "save_log_files": True,
        }
    ],
    "storage": [
        {
            "enable": True,
            "backend": "sqlite",
            "sqlite_db_file": os.environ.get("RFM_SQLITE_DB_FILE", f"{_runs_folder}/results.db"),
        }
    ],
    "logging": [
        {
            "handlers": [
                {
                    "type": "file",
                    "name": f"{_runs_folder}/reframe.log",
                    "level": "debug2",
                    "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                    "append": False,
                }
            ],
            "handlers$": [
                {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}
            ],
            # One line a test: a multi-line log costs 10 ms a variable.
            "handlers_perflog": [
                {
                    "type": "filelog",
                    "prefix": "%(check_system)s/%(check_partition)s",
                    "level": "info",
                    "format": (
                        "%(check_job_completion_time)s|%(version)s|%(check_display_name)s|"
                        "%(check_system)s:%(check_partition)s+%(check_environ)s|%(check_jobid)s|"
                        "%(check_result)s|%(check_perfvalues)s"
                    ),
                    "format_perfvars": (
                        "%(check_perf_value)s|%(check_perf_unit)s|%(check_perf_ref)s|"
                        "%(check_perf_lower_thres)s|%(check_perf_upper_thres)s|"
                    ),
                    "append": True,
                }
            ],
        }
    ],
}
