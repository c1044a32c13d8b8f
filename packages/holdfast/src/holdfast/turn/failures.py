"""The log lines of attempts and turns that failed: what an operator asks the provider about.

Their fields name the model and carry the provider's own words, redacted where they arrived. The
chat, the worker and the turn are bound to the context of every line.
"""

import logging
from dataclasses import dataclass, replace
from typing import Final

from holdfast.domain.chat import Backoff, TurnError
from holdfast.ports.models import ModelFailed

_LOG: Final = logging.getLogger(__name__)
DETAIL_CHARS_MAX: Final = 500


STATUSES: Final = frozenset(
    {400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529}
)
"""Those that the metric tells apart: a provider must not be able to add time series."""


def error_of(failed: ModelFailed) -> TurnError:
    """What is stored of a failed attempt: for people, and the provider's words for admins."""
    detail = failed.detail[:DETAIL_CHARS_MAX]
    return replace(failed.turn_error(), detail=detail, request_id=failed.request_id)


def labels_of(error: TurnError) -> tuple[str, str, str]:
    """Vendor, kind and status, with few values each."""
    status = error.status_code
    told = "none" if status is None else str(status) if status in STATUSES else "other"
    return error.provider or "none", error.kind.value, told


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """A failed attempt, and what follows. `model` and `host`: whom it asked."""

    failed: ModelFailed
    error: TurnError
    model: str | None
    host: str
    attempt: int
    then: Backoff | None


def log_attempt(each: FailedAttempt) -> None:
    """At once for the first of a kind; those that an outage repeats are counted (`repeated`)."""
    error, then = each.error, each.then
    alike = (error.provider, each.model, error.kind, error.status_code, then is None)
    _LOG.warning(
        "turn: attempt failed",
        extra=_fields(error, each.failed, each.model)
        | {
            "host": each.host or None,
            "attempt": each.attempt,
            "retry_after_s": each.failed.retry_after_s,
            "retry_in_s": None if then is None else then.delay_ms / 1000,
            "next_model": None if then is None else then.model,
            "seldom": alike,
        },
    )


def log_dropped_compaction(failed: ModelFailed) -> None:
    """The turn goes on: no person sees it."""
    _LOG.warning("turn: compaction failed", extra=_fields(error_of(failed), failed, None))


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
