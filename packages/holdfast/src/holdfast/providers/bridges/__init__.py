"""Bridges to other model libraries, for providers that speak none of our wires. Optional extras."""
