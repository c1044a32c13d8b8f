"""The composition root: the one place where ports meet adapters.

    settings ──▶ options.py (values) ──▶ adapters.py (opens what talks to the world)
                                              │  around: tests stand here
                                              ▼
                                         observed.py (spans, durations) ──▶ server.py (the graph)
                                                                                │
                                         edge.py (identity, the app, a socket) ◀┘

`open_server` opens all but the edge; `open_served` puts it on a socket; `assemble` builds the same
graph over any ports, and does no I/O.
"""

from holdfast.bootstrap.adapters import Adapters
from holdfast.bootstrap.options import ServerOptions
from holdfast.bootstrap.server import Server, assemble, open_server

__all__ = ["Adapters", "Server", "ServerOptions", "assemble", "open_server"]
