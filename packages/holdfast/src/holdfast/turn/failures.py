"""The log lines of attempts and turns that failed: what an operator asks the provider about.

Their fields name the model and carry the provider's own words, redacted where they arrived. The
chat, the worker and the turn are bound to the context of every line.
"""

import logging
from typing import Final

from holdfast.domain.chat import Backoff, TurnError
from holdfast.ports.models import ModelFailed

_LOG: Final = logging.getLogger(__name__)
DETAIL_CHARS_MAX: Final = 500


def log_attempt(
    failed: ModelFailed, error: TurnError, *, model: str | None, attempt: int, then: Backoff | None
) -> None:
    """At once for the first of a kind; those that an outage repeats are counted (`repeated`)."""
    retry_in_s = None if then is None else then.delay_ms / 1000
    alike = (error.provider, model, error.kind, error.status_code, then is None)
    _LOG.warning(
        "turn: attempt failed",
        extra=_fields(error, failed, model)
        | {"attempt": attempt, "retry_in_s": retry_in_s, "seldom": alike},
    )


def log_turn(error: TurnError, failed: ModelFailed | None, *, model: str | None) -> None:
    """Of every turn that fails: a person sees it."""
    _LOG.warning("turn: failed", extra=_fields(error, failed, model))


def _fields(error: TurnError, failed: ModelFailed | None, model: str | None) -> dict[str, object]:
    return {
        "model": model,
        "provider": error.provider,
        "kind": error.kind.value,
        "status": error.status_code,
        "detail": (error.sentence if failed is None else failed.detail)[:DETAIL_CHARS_MAX],
        "request_id": None if failed is None else failed.request_id,
    }
