"""Every error of the tree has one row of the table of problems, and every row an error."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson
import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from holdfast.api import app
from holdfast.api import errors as edge
from holdfast.api.field_errors import ERRORS_SHOWN_MAX
from holdfast.api.problems import KINDS, problem_of, translated
from holdfast.domain import denials, errors
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import ApiKeyId, ChatId
from holdfast.ports.models import ModelFailed
from holdfast.ports.workspaces import NoWorkspace, TooManyWorkspaces, WorkspaceUnusable

FAMILIES = {
    *(HoldfastError, errors.ChatError, errors.OverQuota, edge.EdgeError, edge.BadRequest),
    *(denials.IdentityError, denials.AccountRefused),
}
"""Only their members are raised."""
OF_WORKERS = {errors.FenceStale, ModelFailed}
"""No request raises them: if one did, it would be our mistake."""
ID = UUID(int=7)
REQUEST = "req_1"


def tree(family: type[HoldfastError] = HoldfastError) -> set[type[HoldfastError]]:
    """What a request can raise: the errors of the packages that the API imports."""
    assert app
    below = {each for sub in family.__subclasses__() for each in tree(sub)}
    ours = ("holdfast.domain.", "holdfast.ports.", "holdfast.api.", "holdfast.chats.")
    return {family, *(each for each in below if each.__module__.startswith(ours))}


def test_every_error_has_a_row() -> None:
    for error in tree():
        assert error.code in KINDS, error


def test_every_row_has_an_error() -> None:
    assert {error.code for error in tree() - FAMILIES} == set(KINDS)


def test_an_error_without_a_code_is_a_family_or_of_a_worker() -> None:
    uncoded = {error for error in tree() if error.code == "internal"}
    assert uncoded == FAMILIES | OF_WORKERS | {edge.InternalError}


def body_of(error: HoldfastError) -> Mapping[str, Any]:
    return orjson.loads(bytes(problem_of(error, REQUEST).body))


def refused(error: type[errors.CommandRefused]) -> errors.CommandRefused:
    return error(ChatId(ID), "idle", "SendMessage", "nothing failed")


REFUSED = "Nothing failed."
STANDING = {"chat_status": "idle", "command": "send_message"}
UNSEEN = "The database cannot be written at the moment. Try again later."


@pytest.mark.parametrize(
    ("error", "code", "more"),
    [
        (refused(errors.NotLawful), "chat_state_conflict", {"detail": REFUSED, **STANDING}),
        (refused(errors.ReplyOwed), "command_refused", {"detail": REFUSED, **STANDING}),
        (errors.Unavailable("of a host"), "unavailable", {}),
        (errors.Contended("of a host"), "unavailable", {}),
        (errors.DatabaseReadOnly("of a host"), "unavailable", {"detail": UNSEEN}),
        (edge.NotReady(errors.Unavailable("of a host")), "unavailable", {"detail": UNSEEN}),
        (errors.ChatTooNew(ChatId(ID), 3, 2), "upgrading", {}),
        (
            errors.TooManyStatements(4),
            "too_many_statements",
            {"detail": "4 requests of this user are waiting for the database."},
        ),
        (
            errors.ChangedMeanwhile(),
            "precondition_failed",
            {"detail": "The resource has changed. Read it again."},
        ),
        (
            edge.PreconditionFailed('"1"'),
            "precondition_failed",
            {"detail": "The resource has changed. Read it again.", "etag": '"1"'},
        ),
        (
            denials.FieldRefused("email", "no address"),
            "invalid_request",
            {
                "detail": "email: No address.",
                "errors": [
                    {
                        "in": "body",
                        "pointer": "/email",
                        "code": "invalid_value",
                        "detail": "No address.",
                    }
                ],
            },
        ),
        (
            denials.OidcRefused("state", "for the log"),
            "oidc_login_failed",
            {"detail": "The login failed: state.", "reason": "state"},
        ),
        (
            denials.AlreadyMade(ApiKeyId(ID)),
            "api_key_already_created",
            {
                "detail": "The secret is shown once and not stored. Revoke this API key and create"
                " another one.",
                "api_key_id": f"key_{ID.hex}",
            },
        ),
        (NoWorkspace("There is none."), "workspace_not_found", {"detail": "There is none."}),
        (edge.NotAuthenticated(), "unauthenticated", {}),
        (edge.NoSuchProvider(), "not_found", {}),
        (edge.Overloaded(), "overloaded", {}),
        (edge.InternalError(), "internal", {}),
        (edge.MalformedJson("no JSON"), "malformed_json", {"detail": "no JSON"}),
    ],
)
def test_a_problem_says_what_the_error_says(
    error: HoldfastError, code: str, more: Mapping[str, Any]
) -> None:
    kind = KINDS[code]
    head = {"type": f"urn:holdfast:problem:{code}", "title": kind.title, "status": kind.status}
    fixed = {"code": code, "detail": None, "retryable": kind.retryable, "request_id": REQUEST}
    assert body_of(error) == {**head, **fixed, **more}
    assert problem_of(error, REQUEST).status_code == kind.status
    assert problem_of(error, REQUEST).headers["x-request-id"] == REQUEST


def test_what_passes_by_itself_is_retryable_and_says_when() -> None:
    for error in tree() - FAMILIES:
        kind = KINDS[error.code]
        assert kind.retryable == (kind.status in {408, 429, 503}), error
    sent = problem_of(errors.Unavailable("away", retry_after_s=None), REQUEST).headers
    assert sent["retry-after"] == "1"


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (edge.NotAuthenticated(), {"www-authenticate": "Bearer"}),
        (edge.PreconditionFailed('"1"'), {"etag": '"1"'}),
        (edge.MethodNotAllowed("no", "GET, PUT"), {"allow": "GET, PUT"}),
        (errors.ChatBusy(ChatId(ID), 5), {"retry-after": "1"}),
        (errors.Unavailable("away", retry_after_s=6.5), {"retry-after": "7"}),
        (edge.NotReady(errors.Unavailable("away", retry_after_s=6.5)), {"retry-after": "7"}),
        (errors.FormatUnknown("new"), {"retry-after": "30"}),
        (denials.Throttled(0.2), {"retry-after": "1"}),
        (edge.TooManyRequests(2.5), {"retry-after": "3"}),
        (edge.Overloaded(), {"retry-after": "1"}),
        (TooManyWorkspaces(3), {}),
        (WorkspaceUnusable("no"), {}),
    ],
)
def test_headers_follow_the_error(error: HoldfastError, headers: Mapping[str, str]) -> None:
    always = {"content-type", "content-length", "x-request-id"}
    sent = problem_of(error, REQUEST).headers
    assert {name: sent[name] for name in sent if name not in always} == headers


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (HTTPException(404), edge.NoSuchRoute("There is no such route.")),
        (
            HTTPException(405),
            edge.MethodNotAllowed("Use one of the methods that `Allow` names.", "GET, PUT"),
        ),
        (HTTPException(418, "teapot"), edge.RequestNotAnswered("teapot")),
        (
            RequestValidationError(
                [{"type": "string_type", "loc": ("body", 1), "msg": "no", "input": "secret"}]
            ),
            edge.InvalidRequest(
                [
                    {
                        "in": "body",
                        "pointer": "/1",
                        "code": "wrong_type",
                        "detail": "Must be a string.",
                    }
                ]
            ),
        ),
    ],
)
def test_an_error_of_the_framework_becomes_one_of_ours(
    raised: Exception, error: HoldfastError
) -> None:
    found = translated(raised, "GET, PUT")
    assert type(found) is type(error)
    assert body_of(found) == body_of(error)
    assert dict(problem_of(found, REQUEST).headers) == dict(problem_of(error, REQUEST).headers)


def test_an_error_of_ours_is_translated_to_itself() -> None:
    error = edge.BodyTooLarge("at most 10 bytes")
    assert translated(error) is error


def test_an_error_outside_the_tree_has_no_problem() -> None:
    with pytest.raises(KeyError):
        translated(KeyError("ours"))


def test_wrong_fields_are_bounded() -> None:
    wrong = [{"type": "missing", "loc": ("body",)}] * (ERRORS_SHOWN_MAX + 5)
    assert len(body_of(translated(RequestValidationError(wrong)))["errors"]) == ERRORS_SHOWN_MAX
