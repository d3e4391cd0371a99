"""The virtual cluster: two Slurm clusters of namespaces in one Linux machine, and the link between.

Outside run: cli, lifecycle, enter, client, state, build.  Inside, as first processes of their PID
namespaces: world (the head node) and node.  Standard library only, so that it starts at once and
works wherever there is a Python 3.11.
"""
