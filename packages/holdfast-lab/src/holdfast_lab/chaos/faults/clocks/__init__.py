"""Clocks that jump and drift under a worker."""
