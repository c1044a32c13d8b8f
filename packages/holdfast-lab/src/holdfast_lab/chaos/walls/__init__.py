"""The wall around commands: attacked from within, whole and with one protection taken away."""
