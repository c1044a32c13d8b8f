"""Measurements, each a `just bench-…` target that writes a page for people and one for programs."""
