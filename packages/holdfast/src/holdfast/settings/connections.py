"""Bounds on connections, which hold before a request is read."""

from typing import Annotated, TypeAlias

from pydantic import Field

ConnectionsMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Maximum number of open connections per process; further ones are refused"
        " with 503. Keep it below the limit of open files. 0: no limit.",
    ),
]
ConnectionsPerAddressMax: TypeAlias = Annotated[
    int,
    Field(
        ge=0,
        description="Maximum number of open connections per client address (IPv6: per /64"
        " network) and process; further ones are refused with 429. The address is"
        " that of the peer: a proxy in `HOLDFAST_TRUSTED_PROXIES` has no limit;"
        " behind any other proxy set this as high as `HOLDFAST_CONNECTIONS_MAX`. 0:"
        " no limit.",
    ),
]
HeadSeconds: TypeAlias = Annotated[
    float,
    Field(
        gt=0,
        le=3600,
        description="Timeout for the request line and all headers, in seconds; then the"
        " connection is closed.",
    ),
]
