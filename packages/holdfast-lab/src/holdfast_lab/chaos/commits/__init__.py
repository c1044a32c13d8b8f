"""The database crashes, and answers get lost on their way."""
