"""The simulator as a process of its own, and the endpoints that lead to it."""

from dataclasses import replace

from holdfast.providers.endpoints import VENDORS, endpoint_of
from holdfast.providers.types import Endpoint
from holdfast_lab.chaos.models.turns import PATHS


def endpoint_at(url: str, wire: str, **headers: str) -> Endpoint:
    """The simulator's endpoint on this wire; `x_sim_fault="…"` and the like direct its answer."""
    vendor = VENDORS[f"simulator-{wire}"]
    endpoint = endpoint_of(vendor, "any-key", base_url=url + PATHS[wire])
    directed = {name.replace("_", "-"): value for name, value in headers.items()}
    return replace(endpoint, headers={**endpoint.headers, **directed})
