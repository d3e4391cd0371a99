"""The virtual cluster: two Slurm clusters of namespaces in one Linux machine, and their link.

These modules run outside: cli, lifecycle, lease, enter, client, state, build.  Inside, world (the
head node) and node are the first processes of their PID namespaces.  Only the standard library is
used, so that it starts at once, wherever there is a Python 3.11.
"""
