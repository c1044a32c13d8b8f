"""Logs, metrics and traces: what operators are told, every name in one place.

`logs` is one chain for all that is logged, `metrics` the table of all that is counted and measured,
`traces` where spans go. No other package imports the libraries that carry them; the application
counts in plain numbers and logs with the standard library.
"""
