"""The columns of a history.  A night is one run of a campaign; a series is one value of one case.

A history holds no samples: it is made from the launch medians of bundles, and from what other
tools had logged before.
"""

from __future__ import annotations

from typing import Any

import polars as pl

Schema = dict[str, Any]

#: What tells one series of a campaign on a site from all others.
SERIES: Schema = {
    "case_id": pl.String,
    "study": pl.String,
    "case": pl.String,
    "variant": pl.String,
    "size_bytes": pl.Int64,
    "phase": pl.String,
    "metric": pl.String,
    "unit": pl.String,
}
#: One row a launch that passed and a series: ``medians.parquet`` of a bundle.  `nodes` is the set
#: of hosts by their pseudonyms, sorted and joined by "+".  The median of the launch's samples has
#: its rank interval within the launch, null with fewer than 6 samples.
MEDIANS: Schema = {
    "launch": pl.String,
    "campaign_round": pl.Int64,
    **SERIES,
    "nodes": pl.String,
    "samples": pl.Int64,
    "median": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
#: One row a night, series and set of nodes.  `night` is the start of the run (UTC, ISO 8601), and
#: `digest` that of its bundle, or the sha256 of the file that it was imported from.  `median` is
#: over the medians of the launches that nothing disturbed, `launches` their number; if all were
#: disturbed, it is over these.  `low` and `high` are the rank interval over launches, else null.
#: `left_out` says why detection leaves the night out ("disturbed", or the words of an annotation);
#: "" if it does not.  `foreign`: imported, so without samples.
NIGHTS: Schema = {
    "night": pl.String,
    "digest": pl.String,
    **SERIES,
    "nodes": pl.String,
    "launches": pl.Int64,
    "disturbed": pl.Int64,
    "median": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "lower_is_better": pl.Boolean,
    "left_out": pl.String,
    "foreign": pl.Boolean,
}
#: One row a launch of a campaign over pairs of nodes, and a measure of it.  `host` and
#: `other` are its nodes by their pseudonyms, `other` "" for a launch on one node; switches "" where
#: they are not known.  Launches of one `round` of a night were near each other in time.  `excess`
#: is how much worse the launch was than the others of its night, as a natural logarithm; `level`
#: is what these measured, in `unit`.  Of measure "failure", which failed launches have as well,
#: `excess` is 1 if the launch failed, else 0, and `level` the share that did.
PAIRS: Schema = {
    "night": pl.String,
    "digest": pl.String,
    "launch": pl.String,
    "round": pl.Int64,
    "study": pl.String,
    "place": pl.String,
    "environ": pl.String,
    "host": pl.String,
    "other": pl.String,
    "switch": pl.String,
    "other_switch": pl.String,
    "measure": pl.String,
    "excess": pl.Float64,
    "level": pl.Float64,
    "unit": pl.String,
}
#: One row a remark of a person on a night, from the annotations of the site.
NOTES: Schema = {
    "night": pl.String,
    "text": pl.String,
}
#: One row an annotation that accepts the level of the series whose names match the glob `series`:
#: what they were up to the day or second `until` is their baseline.
ACCEPTED: Schema = {
    "until": pl.String,
    "series": pl.String,
    "text": pl.String,
}
#: One row a fact of a night: `subject` is the environment, or the pseudonym of a node, that it is
#: about, "" for the site; `name` what it is (kernel, firmware, MPI library, UCX, Spack hash).
PROVENANCE: Schema = {
    "night": pl.String,
    "digest": pl.String,
    "subject": pl.String,
    "name": pl.String,
    "value": pl.String,
}
