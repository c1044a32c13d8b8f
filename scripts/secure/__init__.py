"""`just secure`: what machines find of weak code, committed secrets and known weak packages."""
