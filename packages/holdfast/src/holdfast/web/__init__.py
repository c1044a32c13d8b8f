"""The HTTP edge: who asks, what they ask, and how they are told. No rule about chats lives here.

    request ─▶ guard      size, time and form of what comes in; nothing unforeseen gets out
            ─▶ auth       from a key or a cookie to a principal; how often they may ask
            ─▶ routes/    one file per resource: check the form, call a verb, say the answer
            ─▶ problems   every typed error as a problem document, in one table

`shapes` and `events` are the contract (OpenAPI 3.1 at `/api/v1/openapi.json`). `serving` runs the
app on a socket. The edge meets the driving half only in the database and on the bus.
"""
