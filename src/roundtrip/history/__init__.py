"""The history of a site: what every published or imported night measured, in one table."""
