"""The settings that each model's provider rejects, for the life of this process (L41)."""

import logging
from dataclasses import replace
from typing import Final

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.rejections import CONTAINER
from holdfast.adapters.providers.types import Call, Endpoint
from holdfast.adapters.providers.wires import WIRES

_LOG: Final = logging.getLogger(__name__)
REJECTED_MAX: Final = 3
"""Settings that one attempt leaves out; one more, and the provider's error is told."""


class RejectedSettings:
    """By the configured name of the model."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    def apply(self, call: Call, model: str) -> Call:
        return replace(call, without=self._of(model))

    def less(self, call: Call, model: str, endpoint: Endpoint, error: ProviderError) -> Call | None:
        """The call without the rejected setting; None: there is none to leave out."""
        if error.rejected is None or len(call.without - self._of(model)) >= REJECTED_MAX:
            return None
        repeated = replace(call, without=call.without | {error.rejected})
        sent = WIRES[endpoint.wire].request
        differs = sent(repeated, endpoint).body != sent(call, endpoint).body
        return repeated if differs else None

    def remember(self, call: Call, model: str) -> None:
        """The provider took this call: the next one goes without these settings from the start."""
        learned = call.without - {CONTAINER}  # of one chat, not of the model
        for setting in sorted(learned - self._of(model)):
            extra = {"model": model, "setting": setting}
            _LOG.warning("a provider rejects a setting; it is left out", extra=extra)
        self._known[model] = self._of(model) | learned

    def _of(self, model: str) -> frozenset[str]:
        return self._known.get(model, frozenset())
