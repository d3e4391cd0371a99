"""The report's audit of itself against rules of sound benchmarking."""
