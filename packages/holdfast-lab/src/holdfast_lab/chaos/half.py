"""A mutant: whatever came before the connection ended is taken for the reply (P1)."""

from collections.abc import Callable
from typing import Any

from holdfast.adapters.providers.stream import ProviderStream
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.ports import models


def half_finish() -> Callable[..., None]:
    """In the place of `ProviderStream._finish`."""
    intact = ProviderStream._finish  # pyright: ignore[reportPrivateUsage]

    def finish(self: Any, decoder: Any) -> None:
        intact(self, decoder)
        if self._error is not None and self._error.kind is ErrorKind.STREAM_CLOSED:
            self._error = None
            parts = self.partial()
            self.final = models.Reply(parts=parts, ending=Ending.COMPLETE, usage=None, finish="")

    return finish
