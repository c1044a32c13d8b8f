"""Driving one turn of a chat: asking for the next step, doing exactly that, committing it."""
