"""What reports and pages show, without its appearance: data, verdicts, quantities and blocks."""
