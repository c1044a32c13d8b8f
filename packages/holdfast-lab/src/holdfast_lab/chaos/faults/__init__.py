"""The attacks, a package per kind of fault."""
