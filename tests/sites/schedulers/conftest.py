"""Commands of Slurm that a test plays."""

from support.slurm_commands import fake  # noqa: F401  a fixture
