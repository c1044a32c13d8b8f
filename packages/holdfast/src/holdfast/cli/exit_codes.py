"""How a command ends: what each exit code means, and which error leads to which.

Scripts read the code, users the one sentence on stderr. There is no traceback.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from holdfast_client.errors import APIStatusError, HoldfastError


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    NEEDS_ACTION = 3
    NOT_AUTHENTICATED = 4
    NOT_FOUND = 5
    LIMIT = 6
    AGENT_FAILED = 7
    TIMEOUT = 124
    INTERRUPTED = 130
    PIPE_CLOSED = 141


LIMIT_CODES: Final = frozenset({"queue_full", "too_many_chats", "too_many_bytes"})
"""Refusals that say «enough», whatever their HTTP status."""


class CommandEnd(Exception):
    """A command ends here: a sentence for stderr, and a code for the shell."""

    def __init__(self, sentence: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(sentence)
        self.code = code


def code_of(error: "HoldfastError") -> Exit:
    from holdfast_client import errors

    if isinstance(error, errors.APIStatusError) and error.code in LIMIT_CODES:
        return Exit.LIMIT
    codes: dict[type[errors.HoldfastError], Exit] = {
        errors.AuthenticationError: Exit.NOT_AUTHENTICATED,
        errors.ConfigurationError: Exit.NOT_AUTHENTICATED,
        errors.PermissionDeniedError: Exit.NOT_FOUND,
        errors.NotFoundError: Exit.NOT_FOUND,
        errors.RateLimitError: Exit.LIMIT,
        errors.WaitTimeoutError: Exit.TIMEOUT,
        errors.TurnFailedError: Exit.AGENT_FAILED,
    }
    return codes.get(type(error), Exit.FAILED)


def sentence_of(error: "HoldfastError") -> str:
    from holdfast_client import errors

    match error:
        case errors.AuthenticationError(code="unauthenticated"):
            return "Not signed in: run `holdfast login`, or set HOLDFAST_API_KEY."
        case errors.PermissionDeniedError(extra={"required_scope": scope}):
            return f"{_of_api(error)} Ask for it with `{_login_for(scope)}`."
        case errors.APIStatusError():
            return _of_api(error)
        case _:
            return one_line(str(error)) or type(error).__name__


def _login_for(scope: object) -> str:
    """A new login has the scopes that are named, and no others."""
    wanted = dict.fromkeys(("read", "write", str(scope)))
    return " ".join(("holdfast login", *(f"--scope {each}" for each in wanted)))


def _of_api(error: "APIStatusError") -> str:
    said = [each.rstrip(".") for each in (error.title, error.detail) if each]
    return one_line(": ".join(dict.fromkeys(said)) or f"The server answered {error.status}") + "."


def of_turn(status: str | None, error: dict[str, Any] | None, finish_reason: str | None) -> Exit:
    """How a followed turn ended, seen from its last status, error and message."""
    match status:
        case "failed":
            limited = error is not None and error.get("type") in {"usage_limit", "step_limit"}
            return Exit.LIMIT if limited else Exit.AGENT_FAILED
        case "awaiting":
            return Exit.NEEDS_ACTION
        case _:
            return Exit.DONE if finish_reason in (None, "stop") else Exit.NEEDS_ACTION


def rests_unanswered(status: str | None, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Interrupted before the first word: the turn is over, and the user's message is last."""
    return status == "idle" and bool(messages) and messages[-1]["role"] in {"user", "tool"}


def one_line(text: str) -> str:
    return " ".join(text.split())
