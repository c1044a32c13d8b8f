"""Reading public web pages for a model."""

from dataclasses import dataclass
from typing import Protocol


class PageRefused(Exception):
    """The page was not read. The words are for the model: what is wrong, and what to do next."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """`url`: after redirects. `text`: Markdown of an HTML page, any other text as it is."""

    url: str
    content_type: str
    text: str


class WebPages(Protocol):
    async def read(self, url: str) -> WebPage:
        """Raises `PageRefused`."""
        ...
