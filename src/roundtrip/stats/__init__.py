"""Statistics of launches: pure functions, no input or output."""
