"""Changes over the nights of a site: change points, drifts, incidents."""
