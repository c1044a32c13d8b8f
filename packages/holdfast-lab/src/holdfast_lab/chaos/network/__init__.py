"""Links that are slow, cut and dead, and readers that all come back at once."""
