"""The history of a site: what every published night measured, in one table."""
