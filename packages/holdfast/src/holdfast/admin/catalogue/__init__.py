"""Providers and models that admins add while the server runs.

added     every process's copy of them: told by hints, checked by polls, put into the registry
changes   add, change and remove them
"""
