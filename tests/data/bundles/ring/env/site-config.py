# on node1
