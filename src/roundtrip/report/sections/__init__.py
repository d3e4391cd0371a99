"""The parts of a report that all studies share."""
