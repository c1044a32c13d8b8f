"""What the application needs from outside: Protocols, one file each.

A port exists because there are two implementations of it, or because a test must stand there.
"""
