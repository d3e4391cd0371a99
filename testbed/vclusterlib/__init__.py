"""The virtual cluster: two Slurm clusters of namespaces in one Linux machine, and their link.

These modules run outside: cli, lifecycle, lease, enter, state, tools.  Inside, the head
node (head) and the nodes that boot forks are the first processes of their PID namespaces.  Only the
standard library is used, so that it starts at once, wherever there is a Python 3.11.
"""

from __future__ import annotations


class VclusterError(Exception):
    """A failure that the input does not explain: exit status 1."""

    status = 1


class UserError(VclusterError):
    """Bad input or an unsuitable machine: exit status 2.  The message says what is right."""

    status = 2
