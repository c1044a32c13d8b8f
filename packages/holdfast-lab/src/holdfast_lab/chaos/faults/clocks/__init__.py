"""Clocks that jump and drift under whoever drives."""
