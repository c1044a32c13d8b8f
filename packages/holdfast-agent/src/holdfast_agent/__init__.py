"""The workspace agent: a small process beside the code, which outlives the servers that ask it."""
