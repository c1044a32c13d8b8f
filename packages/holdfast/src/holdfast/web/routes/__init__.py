"""One file per resource. Each has a `router`; `app.py` puts them together."""
