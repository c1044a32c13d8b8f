"""Bounds on connections, which hold before a request is read."""

from typing import Annotated, TypeAlias

from pydantic import Field

ConnectionsMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Connections that one process keeps open at once; more are refused with 503."
        " Keep it below the limit of open files. 0: no bound.",
    ),
]
ConnectionsPerAddressMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Connections of one client address (IPv6: one /64 network) to one process;"
        " more are refused with 429. The address is that of the peer: a proxy in"
        " `HOLDFAST_TRUSTED_PROXIES` is not bounded, but behind any other proxy set this as high as"
        " `HOLDFAST_CONNECTIONS_MAX`. 0: no bound.",
    ),
]
HeadSeconds: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        le=3600,
        description="Seconds in which a client must send the request line and all headers; then its"
        " connection is closed.",
    ),
]
