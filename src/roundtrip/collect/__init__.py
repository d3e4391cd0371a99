"""From the raw files of a campaign run to its bundle."""
