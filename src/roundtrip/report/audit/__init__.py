"""The report's audit of itself against 22 rules of sound benchmarking."""
