"""Everything that talks to the world outside: each package serves ports of `holdfast.ports`."""
