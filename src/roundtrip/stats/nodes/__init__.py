"""Find the node, switch or link that stands out among launches between pairs of nodes.

The model: on a log scale the cost of a launch is the cost of its round, plus an effect of each of
its nodes, plus noise.  An effect is an outlier if it exceeds the site's threshold and the
differences among healthy nodes by more than chance explains.
"""
