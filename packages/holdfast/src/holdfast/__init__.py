"""Holdfast: a server for AI agent chats that never loses a turn."""
