"""The simulator as a process of its own, and the endpoints that lead to it."""

from dataclasses import replace

from holdfast.prove.models.turns import PATHS
from holdfast.providers.endpoints import VENDORS, endpoint_of
from holdfast.providers.types import Endpoint


def endpoint_at(url: str, wire: str, **headers: str) -> Endpoint:
    """The simulator's endpoint on this wire; `x_sim_fault="…"` and the like direct its answer."""
    vendor = VENDORS[f"simulator-{wire}"]
    endpoint = endpoint_of(vendor, "any-key", base_url=url + PATHS[wire])
    directed = {name.replace("_", "-"): value for name, value in headers.items()}
    return replace(endpoint, headers={**endpoint.headers, **directed})
