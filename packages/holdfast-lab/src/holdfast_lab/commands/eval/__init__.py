"""The command `holdfast lab eval`."""
