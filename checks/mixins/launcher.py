"""Which launcher starts the ranks of an environment."""

from reframe.core.backends import getlauncher


def starts_steps(launcher):
    """Whether launches by `launcher` are steps of the job that runs ReFrame, not jobs."""
    return launcher.registered_name == "srunalloc"


def environment_launcher(job, extras):
    """The launcher that an environment's `extras` name; without one, the job's own."""
    key = extras.get("launcher")
    if key and not (starts_steps(job.launcher) and key == "srun"):  # it is srun that starts a step
        return getlauncher(key)()
    return job.launcher
