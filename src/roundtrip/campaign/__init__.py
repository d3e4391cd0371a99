"""From a declared campaign to a tree of raw results: only the parts that ReFrame lacks."""
