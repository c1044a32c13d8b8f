"""Small HTTP requests to identity providers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Fetched:
    status: int
    body: bytes


class Fetching(Protocol):
    """Follows no redirect, reads a bounded body in bounded time; else raises `Unavailable`."""

    async def get(self, url: str) -> Fetched: ...

    async def post_form(
        self, url: str, form: Mapping[str, str], *, basic: tuple[str, str] | None = None
    ) -> Fetched: ...
