"""Models that fail: every fault of the simulator, as whole turns."""
