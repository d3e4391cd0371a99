"""From a bundle to its report: a pure function."""
