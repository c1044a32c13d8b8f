"""Which setting of a request a provider did not take (L41).

A setting that the reply does not depend on is left out, and the same call is repeated. Vendors add
and remove such settings faster than a catalogue of models can follow.
"""

import re
from typing import Final

from holdfast.adapters.providers.error_rows import Signals

CONTAINER: Final = "container"
"""Where the provider ran code for one chat: it expires, and the next run makes another one."""
SETTINGS: Final = (
    "temperature",
    "reasoning.summary",
    "reasoning.effort",
    "reasoning_effort",
    "output_config.effort",
    "thinking.display",
    "thinking",
    "stream_options",
    "prompt_cache_key",
    "include",
    CONTAINER,
    "service_tier",
)
"""Settings that a reply does not depend on, as dotted paths of a body."""

_GOOGLE: Final = ("thinking_level", "thinking_config", "thinkingconfig", "includethoughts")
"""What Google calls its thinking."""
_VARIANT: Final = re.compile(r"\bthinking\.(adaptive|enabled)\.")
"""Anthropic names the variant of a setting inside its path."""

_REJECTS: Final = re.compile(
    r"unsupported|not supported|does not support|not (permitted|allowed|accept)"
    r"|extra[ _](inputs|forbidden)|unrecognized|unknown (parameter|field|name)|must be verified"
    r"|deprecated|only the default|not (a )?valid|invalid (value|parameter)|cannot be (set|used)"
    r"|is not available|(only|not) enabled|container\S* (was |is |has )?(not found|expired)"
)
_OF_HISTORY: Final = re.compile(r"\b(messages|contents|input)[.\[]\d|`signature`")
"""The provider speaks of the history: to leave a setting out would not help."""


def rejected_setting(signals: Signals) -> str | None:
    """The setting that `param` or the provider's words name; None if they name none."""
    if signals.param in SETTINGS:
        return signals.param
    text = _VARIANT.sub("thinking.", signals.text)
    if _REJECTS.search(text) is None or _OF_HISTORY.search(text) is not None:
        return None
    if any(word in text for word in _GOOGLE):
        return "thinking"
    named = (name for name in SETTINGS if re.search(rf"\b{re.escape(name)}\b", text))
    return next(named, None)
