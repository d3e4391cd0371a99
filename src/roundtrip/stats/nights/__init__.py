"""What changed over the nights of a site: steps, drifts and spikes in series of nightly medians."""
