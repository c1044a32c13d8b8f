"""Exit codes: a table, and every error of the SDK has a place in it."""

import pytest

from holdfast.cli.exit_codes import Exit, code_of, of_turn, sentence_of
from holdfast_client import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigurationError("which server?"), 4),
        (errors.APIConnectionError("no answer"), 1),
        (errors.WaitTimeoutError("too late"), 124),
        (errors.api_error(401, {"code": "unauthenticated"}, None), 4),
        (errors.api_error(403, {"code": "permission_denied"}, None), 5),
        (errors.api_error(404, {"code": "chat_not_found"}, None), 5),
        (errors.api_error(409, {"code": "chat_state_conflict"}, None), 1),
        (errors.api_error(409, {"code": "queue_full"}, None), 6),
        (errors.api_error(409, {"code": "too_many_chats"}, None), 6),
        (errors.api_error(409, {"code": "too_many_bytes"}, None), 6),
        (errors.api_error(422, {"code": "invalid_request"}, None), 1),
        (errors.api_error(429, {"code": "rate_limited"}, "1"), 6),
        (errors.api_error(503, {"code": "unavailable"}, "1"), 1),
        (errors.api_error(500, "<html>", None), 1),
    ],
)
def test_an_error_has_a_code_and_one_sentence(error: errors.HoldfastError, code: int) -> None:
    assert code_of(error) == code
    sentence = sentence_of(error)
    assert sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("status", "kind", "ending", "code"),
    [
        ("idle", None, "stop", Exit.DONE),
        ("idle", None, None, Exit.DONE),
        ("idle", None, "interrupted", Exit.NEEDS_ACTION),
        ("awaiting", None, "stop", Exit.NEEDS_ACTION),
        ("failed", "overloaded", None, Exit.AGENT_FAILED),
        ("failed", "usage_limit", None, Exit.LIMIT),
        ("failed", "step_limit", None, Exit.LIMIT),
    ],
)
def test_the_end_of_a_turn_has_a_code(
    status: str, kind: str | None, ending: str | None, code: Exit
) -> None:
    assert of_turn(status, None if kind is None else {"type": kind}, ending) is code


def test_a_problem_says_what_and_why_once() -> None:
    error = errors.api_error(409, {"title": "Not so.", "detail": "The chat\nis archived."}, None)

    assert sentence_of(error) == "Not so: The chat is archived."


def test_a_missing_scope_is_named_with_the_login_that_gives_it() -> None:
    problem = {"title": "No.", "code": "permission_denied", "required_scope": "approve"}

    told = sentence_of(errors.api_error(403, problem, None))

    assert told.endswith("`holdfast login --scope read --scope write --scope approve`.")
