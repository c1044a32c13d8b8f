"""How the streams log an error that they survive."""

import logging

from holdfast.domain.errors import HoldfastError, Unavailable


def log_failure(log: logging.Logger, what: str, error: Exception) -> None:
    """A line for an outage or a refusal; with the traceback for an error that is not ours."""
    if isinstance(error, Unavailable):
        log.info("%s: %s", what, error)
    elif isinstance(error, HoldfastError):
        log.warning("%s: %s", what, error)
    else:
        log.error("%s: %r", what, error, exc_info=error)
