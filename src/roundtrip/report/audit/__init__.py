"""The report's audit of itself against 21 rules of sound benchmarking."""
