"""One classification of what can go wrong: a case per row, and the order of the rows."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.error_rows import ROWS
from holdfast.adapters.providers.errors import (
    DETAIL_CHARS_MAX,
    ProviderError,
    from_event,
    from_response,
    incomplete,
    own_deadline,
    redact,
    retry_after,
    timed_out,
)
from holdfast.domain.chat import ErrorKind
from tests.support.model import NOW

K = ErrorKind
QUOTA = "You exceeded your current quota, please check your plan and billing details"


def error(message: str = "", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def google(code: int, status: str, message: str = "", details: Any = None) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message, "details": details or []}}


CASES: tuple[tuple[str, int | None, Any, ErrorKind, bool], ...] = (
    ("filtered", 400, error(code="content_filter"), K.CONTENT_FILTER, False),
    (
        "filtered",
        400,
        error("...Azure OpenAI's content management policy."),
        K.CONTENT_FILTER,
        False,
    ),
    ("filtered", 400, error(code="invalid_prompt"), K.CONTENT_FILTER, False),
    (
        "overflow",
        400,
        error("prompt is too long: 215000 tokens > 200000"),
        K.CONTEXT_OVERFLOW,
        False,
    ),
    ("overflow", 400, error(code="context_length_exceeded"), K.CONTEXT_OVERFLOW, False),
    (
        "overflow",
        400,
        google(400, "INVALID_ARGUMENT", "The input token count (1) exceeds the maximum"),
        K.CONTEXT_OVERFLOW,
        False,
    ),
    (
        "overflow",
        400,
        error("This model's maximum context length is 8192 tokens."),
        K.CONTEXT_OVERFLOW,
        False,
    ),
    ("overflow", None, error(code="context_length_exceeded"), K.CONTEXT_OVERFLOW, False),
    ("too large", 413, error(type="request_too_large"), K.CONTEXT_OVERFLOW, False),
    (
        "hinted quota",
        429,
        google(429, "RESOURCE_EXHAUSTED", QUOTA, [{"retryDelay": "7s"}]),
        K.RATE_LIMIT,
        True,
    ),
    ("account spent", 429, google(429, "RESOURCE_EXHAUSTED", QUOTA), K.USAGE_LIMIT, False),
    ("account spent", 429, error(code="insufficient_quota"), K.USAGE_LIMIT, False),
    (
        "account spent",
        400,
        error("Your credit balance is too low to access the API."),
        K.USAGE_LIMIT,
        False,
    ),
    ("payment", 402, error("no money"), K.USAGE_LIMIT, False),
    ("quota at the door", 401, error("Your quota does not allow this."), K.USAGE_LIMIT, False),
    (
        "wrong credentials",
        400,
        google(400, "INVALID_ARGUMENT", "API key not valid.", [{"reason": "API_KEY_INVALID"}]),
        K.AUTH,
        False,
    ),
    (
        "wrong credentials",
        401,
        error("invalid x-api-key", type="authentication_error"),
        K.AUTH,
        False,
    ),
    ("wrong credentials", 403, error(type="permission_error"), K.AUTH, False),
    ("not allowed", 401, "<html>Unauthorized</html>", K.AUTH, False),
    ("not allowed", 403, {}, K.AUTH, False),
    (
        "wrong model",
        404,
        error("model: claude-nope", type="not_found_error", code="model_not_found"),
        K.CONFIG,
        False,
    ),
    ("wrong model", 503, error("invalid model: gpt-9"), K.CONFIG, False),
    (
        "wrong model",
        400,
        error("The model `gpt-9` does not exist or you do not have access"),
        K.CONFIG,
        False,
    ),
    (
        "protocol reset",
        None,
        error("stream error: stream ID 429; PROTOCOL_ERROR"),
        K.STREAM_CLOSED,
        False,
    ),
    (
        "closed on the way",
        500,
        error("http2: server sent GOAWAY and closed the connection"),
        K.STREAM_CLOSED,
        True,
    ),
    (
        "closed on the way",
        None,
        error("read tcp 10.0.0.1:503->10.0.0.2:429: connection reset by peer"),
        K.STREAM_CLOSED,
        True,
    ),
    (
        "closed on the way",
        499,
        google(499, "CANCELLED", "The operation was cancelled."),
        K.STREAM_CLOSED,
        True,
    ),
    ("closed on the way", 502, error("the connection was force-closed"), K.STREAM_CLOSED, True),
    ("client closed", 499, {}, K.STREAM_CLOSED, True),
    (
        "overloaded",
        None,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        K.OVERLOADED,
        True,
    ),
    ("overloaded", 498, error("Flex tier.", code="capacity_exceeded"), K.OVERLOADED, True),
    ("overloaded status", 498, {}, K.OVERLOADED, True),
    ("overloaded status", 529, {}, K.OVERLOADED, True),
    (
        "larger than the limit",
        429,
        error("Request too large for m on tokens per min (TPM): Limit 30000, Requested 45000."),
        K.CONTEXT_OVERFLOW,
        False,
    ),
    (
        "no capacity",
        503,
        google(503, "UNAVAILABLE", "The model is overloaded."),
        K.OVERLOADED,
        True,
    ),
    (
        "limited",
        None,
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
        K.RATE_LIMIT,
        True,
    ),
    ("limited", 429, error("Number of requests", type="rate_limit_error"), K.RATE_LIMIT, True),
    ("limited status", 429, "too many", K.RATE_LIMIT, True),
    ("too slow", None, error(type="timeout_error"), K.TIMEOUT, True),
    ("too slow", 504, google(504, "DEADLINE_EXCEEDED"), K.TIMEOUT, True),
    ("too slow status", 408, {}, K.TIMEOUT, True),
    ("too slow status", 524, "<html>cloudflare</html>", K.TIMEOUT, True),
    ("server trouble", None, error(type="api_error"), K.UNAVAILABLE, True),
    (
        "server trouble",
        None,
        {"status": "failed", "error": {"code": "server_error", "message": "x"}},
        K.UNAVAILABLE,
        True,
    ),
    ("server trouble", 500, google(500, "INTERNAL"), K.UNAVAILABLE, True),
    ("server trouble status", 502, "<html><body>Bad Gateway</body></html>", K.UNAVAILABLE, True),
    ("server trouble status", 409, {}, K.UNAVAILABLE, True),
    ("server trouble status", None, error("upstream", code=502), K.UNAVAILABLE, True),
    (
        "call that is none",
        400,
        error(
            "Failed to call a function. Please adjust your prompt.",
            type="invalid_request_error",
            code="tool_use_failed",
            failed_generation="<function=clock>the prompt is too long</function>",
        ),
        K.UNKNOWN,
        True,
    ),
    (
        "bad request",
        400,
        error("messages: roles must alternate", type="invalid_request_error"),
        K.CONFIG,
        False,
    ),
    ("bad request", None, error(type="invalid_request_error"), K.CONFIG, False),
    ("refused status", 307, "", K.CONFIG, False),
    ("refused status", 404, "<html>nginx</html>", K.CONFIG, False),
    ("refused status", 422, {"detail": "unprocessable"}, K.CONFIG, False),
    ("anything else", None, {"error": "odd"}, K.UNKNOWN, False),
)


def classify(status: int | None, body: Any, headers: dict[str, str] | None = None) -> ProviderError:
    if status is None:
        return from_event(body)
    raw = body.encode() if isinstance(body, str) else orjson.dumps(body)
    return from_response(status, headers or {}, raw, NOW)


@pytest.mark.requirement("L47", "L48", "L44")
@pytest.mark.parametrize(("row", "status", "body", "kind", "retryable"), CASES)
def test_each_row_of_the_table(
    row: str, status: int | None, body: Any, kind: ErrorKind, retryable: bool
) -> None:
    seen = classify(status, body)

    assert (seen.kind, seen.retryable, seen.status) == (kind, retryable, status)
    named = next(r for r in ROWS if r.name == row)
    assert (named.kind, named.retryable) == (kind, retryable)


def test_every_row_has_a_case_and_every_kind_a_row() -> None:
    assert {case[0] for case in CASES} == {row.name for row in ROWS}
    assert {row.kind for row in ROWS} == set(ErrorKind)


@pytest.mark.requirement("L48")
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (503, error("invalid model"), K.CONFIG),
        (429, error("x", code="insufficient_quota", type="insufficient_quota"), K.USAGE_LIMIT),
        (401, error("quota exceeded for this key"), K.USAGE_LIMIT),
        (500, error("prompt is too long"), K.CONTEXT_OVERFLOW),
        (429, error("Request rejected by the safety system"), K.CONTENT_FILTER),
        (529, error("Your credit balance is too low"), K.USAGE_LIMIT),
        (400, error("invalid x-api-key", type="invalid_request_error"), K.AUTH),
        (503, error("rate limited", type="rate_limit_error"), K.RATE_LIMIT),
    ],
)
def test_combined_signals_follow_the_precedence(status: int, body: Any, kind: ErrorKind) -> None:
    assert classify(status, body).kind is kind


def test_call_that_groq_could_not_read_is_tried_once_more() -> None:
    body = orjson.dumps(error("Failed to call a function.", code="tool_use_failed"))
    seen = [from_response(400, {}, body, NOW), from_event(error("x", code="tool_use_failed"))]
    assert [(each.retryable, each.attempts_max) for each in seen] == [(True, 2), (True, 2)]
    assert from_response(529, {}, b"{}", NOW).attempts_max is None


@pytest.mark.requirement("L49")
@pytest.mark.parametrize(
    "text",
    ["dial tcp 10.1.2.3:429: i/o", "stream ID 503; odd", "port 401", "id=529", "took 404 ms"],
)
def test_numbers_in_texts_are_not_status_codes(text: str) -> None:
    assert classify(None, error(text)).kind is K.UNKNOWN
    assert classify(500, error(text)).kind is K.UNAVAILABLE


@pytest.mark.requirement("L41")
def test_a_rejected_temperature_is_flagged_so_that_the_call_can_be_repeated_without() -> None:
    body = error("Unsupported parameter: 'temperature'", type="invalid_request_error")

    assert classify(400, body).rejected == "temperature"
    assert classify(400, error("max_tokens", type="invalid_request_error")).rejected is None
    assert classify(500, error("temperature")).rejected is None


def test_the_providers_own_word_on_retrying_counts() -> None:
    assert not classify(500, {}, {"x-should-retry": "false"}).retryable
    assert not classify(500, error("invalid model"), {"x-should-retry": "true"}).retryable
    reset = error("PROTOCOL_ERROR")
    assert not classify(500, reset).retryable
    assert classify(500, reset, {"x-should-retry": "true"}).retryable
    assert not classify(400, {}, {"x-should-retry": "true"}).retryable
    spent = error(code="insufficient_quota")
    assert not classify(429, spent, {"x-should-retry": "true"}).retryable


@pytest.mark.requirement("L45")
@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, None, 7.0),
        ({"retry-after": "1.5"}, None, 1.5),
        ({"retry-after-ms": "1500"}, None, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, None, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, None, 7.0),
        ({"retry-after": "Sat, 14 Nov 2026 12:00:30 GMT"}, None, 30.0),
        ({"retry-after": "Sat, 14 Nov 2026 11:00:00 GMT"}, None, 0.0),
        (
            {},
            google(429, "RESOURCE_EXHAUSTED", "", [{"@type": "x"}, {"retryDelay": "37.5s"}]),
            37.5,
        ),
        ({"retry-after": "2"}, google(429, "X", "", [{"retryDelay": "37s"}]), 2.0),
        ({"retry-after": "99999999"}, None, 86_400.0),
        ({"retry-after": "-3"}, None, None),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": ""}, None, None),
        ({"retry-after": "nan"}, None, None),
        ({"retry-after": "inf"}, None, None),
        ({"retry-after": "1e9"}, None, None),
        ({"retry-after": "٣"}, None, None),
        ({"retry-after": "Sat, 99 Nov 2026 12:00:30 GMT"}, None, None),
        ({"retry-after": "Sat, 14 Nov 2026 12:00:30"}, None, None),
        ({}, google(429, "X", "", [{"retryDelay": "soon"}, 5]), None),
        ({}, google(429, "X", "", "none"), None),
        ({}, ["x"], None),
        ({}, None, None),
    ],
)
def test_the_hint_is_read_in_every_form_and_bad_ones_are_ignored(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    assert retry_after(headers, body, datetime(2026, 11, 14, 12, 0, tzinfo=UTC)) == seconds


@pytest.mark.requirement("L47")
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_the_sentence_is_for_people(kind: ErrorKind) -> None:
    seen = ProviderError(kind, "HTTP 529 from https://x.example", retryable=True, status=529)
    seen.named("azure-openai", "Azure")

    turn_error = seen.turn_error()

    assert not any(character.isdigit() for character in seen.sentence)
    assert seen.sentence[0].isupper()
    assert seen.sentence.endswith(".")
    assert (turn_error.provider, turn_error.status_code) == ("azure-openai", 529)
    assert (turn_error.kind, turn_error.retryable) == (kind, True)


@pytest.mark.requirement("L54")
@pytest.mark.parametrize(
    "leak",
    [
        "Incorrect API key provided: sk-proj-abc123def456. You can",
        "Authorization: Bearer eyJhbGciOi.J9.abcdefSECRET",
        "GET https://x.example/v1?key=AIzaSySECRETSECRET failed",
        "https://user:SECRETpassword@x.example/v1",
        '{"x-api-key": "SECRETSECRETSECRET"}',
        "api_key=SECRETSECRET&x=1",
        "x-amz-security-token: SECRETSECRET",
        "for /v1/models/gemini:stream?alt=sse&key=SECRET12",
        "token 'my-own-SECRET-value' is wrong",
        "AKIAIOSFODNN7SECRET denied",
    ],
)
def test_details_carry_no_credentials_and_no_query_strings(leak: str) -> None:
    seen = redact(leak, ("my-own-SECRET-value",))

    for secret in ("SECRET", "abc123def456", "eyJhbGciOi", "AIza", "alt=sse"):
        assert secret not in seen


def test_details_keep_what_operators_need() -> None:
    text = "model: claude-x not found at https://api.example/v1/messages, max_tokens: 64000"

    assert redact(text) == text
    assert len(redact("x" * 99_999)) == DETAIL_CHARS_MAX


def test_a_page_from_a_proxy_is_named_but_not_kept() -> None:
    seen = classify(502, "<html><head><title>502</title></head>" + "<p>Bad Gateway</p>" * 999)

    assert len(seen.detail) <= 300
    assert "<" not in seen.detail


def test_an_error_in_a_list_is_read() -> None:
    raw = orjson.dumps([google(503, "UNAVAILABLE", "The model is overloaded")])

    assert from_response(503, {}, raw, NOW).kind is K.OVERLOADED
    assert from_response(503, {}, b"[]", NOW).kind is K.UNAVAILABLE


@pytest.mark.requirement("L50", "L56")
def test_the_clocks_of_an_attempt_are_retried_and_our_own_deadline_is_not() -> None:
    assert timed_out("silence", 3).retryable
    assert incomplete().retryable
    ours = own_deadline(3)
    assert (ours.retryable, ours.own_deadline, ours.kind) == (False, True, K.TIMEOUT)
