"""Real processes that are killed, frozen and woken at every boundary of a turn."""
