"""Tools that the provider of a model runs: no worker does, and no result is asked of one."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

ProviderToolName: TypeAlias = Literal["web_search", "web_fetch", "code_execution"]
PROVIDER_TOOLS: Final[tuple[ProviderToolName, ...]] = get_args(ProviderToolName)
WEB_TOOLS: Final[frozenset[str]] = frozenset({"web_search", "web_fetch"})
"""Those that send words of the chat to the web: a message may allow or forbid them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderToolSpec:
    """One of them, and how far it may go. `uses_max`: None leaves it to the provider."""

    name: ProviderToolName
    uses_max: int | None = None
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
