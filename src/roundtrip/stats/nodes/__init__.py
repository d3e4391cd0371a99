"""Which node, switch or link stands out among launches between pairs of nodes.

The model: on a log scale a launch costs what its round costs, plus an effect of each node that it
ran on, plus noise.  An effect is an outlier if it is worse than the site's threshold, and worse
than the healthy nodes differ among each other, beyond what chance explains.
"""
