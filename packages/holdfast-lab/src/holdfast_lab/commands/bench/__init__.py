"""`holdfast lab bench`: how many turns this machine does, each of them checked."""
