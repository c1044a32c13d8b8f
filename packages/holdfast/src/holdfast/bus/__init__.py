"""The bus, lossy by contract: `postgres` (default) and `redis` (large cells) behind one port.

`lossy` is the bus itself, the same on both: `outbox` buffers what goes out, `followers` fans out
what comes in, `engine` says what a server must be able to do, `wire` how things look on it.
"""
