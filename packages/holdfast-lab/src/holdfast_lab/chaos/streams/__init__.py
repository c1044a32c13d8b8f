"""Readers of streams while workers, replicas and buses break under them."""
