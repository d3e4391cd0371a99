"""How often detection raises a false alarm, and what it finds: simulations with fixed seeds."""
