"""Titles, turn labels and summaries of chats, made beside their turns."""
