"""From a declared campaign to a tree of raw results: what ReFrame lacks, and no more."""
