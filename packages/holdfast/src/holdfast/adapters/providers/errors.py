"""What can go wrong with a provider, in one classification.

`ProviderError` says what kind of trouble it is, whether trying again can help and when, one
sentence for people (no status codes, no secrets: L47, L54) and a redacted detail for operators.
Which signals mean which kind stands in `error_rows.py`, as a table with a test per row.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

import orjson

from holdfast.adapters.providers.error_rows import ROWS, Signals
from holdfast.adapters.providers.rejections import rejected_setting
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.ports.models import ModelFailed

_LOG: Final = logging.getLogger(__name__)

DETAIL_CHARS_MAX: Final = 2_000
RETRY_AFTER_S_MAX: Final = 24 * 3600.0

_SENTENCES: Final[Mapping[ErrorKind, str]] = {
    ErrorKind.RATE_LIMIT: "{provider} is receiving requests faster than it allows.",
    ErrorKind.OVERLOADED: "{provider} is overloaded at the moment.",
    ErrorKind.TIMEOUT: "{provider} did not answer in time.",
    ErrorKind.STREAM_CLOSED: "The connection to {provider} ended before the answer did.",
    ErrorKind.AUTH: "{provider} did not accept the credentials that are configured for it.",
    ErrorKind.CONFIG: "{provider} rejected the request. Its model or settings need attention.",
    ErrorKind.CONTEXT_OVERFLOW: "The chat no longer fits into the model's context window.",
    ErrorKind.CONTENT_FILTER: "{provider} declined to answer because of its content rules.",
    ErrorKind.USAGE_LIMIT: "The usage limit of the {provider} account has been reached.",
    ErrorKind.UNAVAILABLE: "{provider} is not available at the moment.",
    ErrorKind.UNKNOWN: "{provider} answered with something that could not be understood.",
}

_PASSING: Final = frozenset(
    {
        ErrorKind.RATE_LIMIT,
        ErrorKind.OVERLOADED,
        ErrorKind.TIMEOUT,
        ErrorKind.STREAM_CLOSED,
        ErrorKind.UNAVAILABLE,
        ErrorKind.UNKNOWN,
    }
)
"""Errors that may pass by themselves; the others need a change by a user or an operator."""


class ProviderError(ModelFailed):
    """An attempt that failed at, or on the way to, the provider."""

    def __init__(
        self,
        kind: ErrorKind,
        detail: str,
        *,
        retryable: bool,
        provider: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        own_deadline: bool = False,
        rejected: str | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self.kind = kind
        self.provider = provider
        self.title = ""
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.own_deadline = own_deadline  # ours, not the provider's: never retried (L56)
        # A setting, as a dotted path, to leave out before the same call is repeated (L41).
        self.rejected = rejected
        self.detail = redact(detail, secrets)
        super().__init__(f"{kind.value}: {self.detail}")

    @property
    def sentence(self) -> str:
        name = self.title or self.provider or "the provider"
        text = _SENTENCES[self.kind].format(provider=name)
        return text[0].upper() + text[1:]

    def named(self, provider: str, title: str = "", secrets: Sequence[str] = ()) -> "ProviderError":
        """The same error, once it is known who is to blame and what must not be said."""
        self.title = title
        self.provider = self.provider or provider
        self.detail = redact(self.detail, secrets)
        self.args = (f"{self.kind.value}: {self.detail}",)
        return self

    def turn_error(self) -> TurnError:  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        return TurnError(
            kind=self.kind,
            sentence=self.sentence,
            provider=self.provider or None,
            status_code=self.status,
            retryable=self.retryable,
        )


# Redaction.

_SECRETS: Final = (
    (re.compile(r"(?i)\b(https?://[^\s\"'<>?#]+)[?#][^\s\"'<>]*"), r"\1"),
    (re.compile(r"(?i)\b(https?://)[^\s/@\"'<>]+@"), r"\1"),
    (re.compile(r"(/[^\s\"'<>?]*)\?[^\s\"'<>]+"), r"\1"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;}]+"), r"\1 [redacted]"),
    (
        re.compile(
            r"(?i)([\w-]*(?:api[-_ ]?key|authorization|secret|password|token|signature|credential))"
            r"([\"']?\s*[:=]\s*[\"']?)(?!\[redacted\]|bearer|basic)[^\s\"',;&}]{6,}"
        ),
        r"\1\2[redacted]",
    ),
    (
        re.compile(
            r"\b(?:sk|rk|pk|xai|gsk|hf|AKIA|ASIA|AIza|ya29|ghp|gho|eyJ|ABSK|bedrock-api-key)"
            r"[-_.A-Za-z0-9*+/=]{6,}"
        ),
        "[redacted]",
    ),
)


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """`text` without credentials and query strings (L54), and not longer than an operator reads."""
    text = text[: DETAIL_CHARS_MAX * 4]
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[redacted]")
    for pattern, substitute in _SECRETS:
        text = pattern.sub(substitute, text)
    return text[:DETAIL_CHARS_MAX]


# When to come back.


def retry_after(headers: Mapping[str, str], body: object, now: datetime) -> float | None:
    """The provider's hint in seconds: milliseconds first, then seconds or a date, then Google's."""
    hints = (
        _number(headers.get("retry-after-ms"), 1000),
        _number(headers.get("retry-after"), 1),
        _date(headers.get("retry-after"), now),
        _retry_info(body),
    )
    for hint in hints:
        if hint is not None:
            return hint
    return None


def _number(value: str | None, divisor: float) -> float | None:
    if value is None or not re.fullmatch(r"\s*\d{1,12}(\.\d{1,9})?\s*", value, re.ASCII):
        return None
    return min(float(value) / divisor, RETRY_AFTER_S_MAX)


def _date(value: str | None, now: datetime) -> float | None:
    if value is None:
        return None
    try:
        at = parsedate_to_datetime(value)
        seconds = (at - now).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0.0), RETRY_AFTER_S_MAX)


def _retry_info(body: object) -> float | None:
    for detail in _details(body):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1], 1)
    return None


def _details(body: object) -> list[dict[str, Any]]:
    details = _mapping(_mapping(body).get("error")).get("details")
    if not isinstance(details, list):
        return []
    return [_mapping(detail) for detail in cast(list[object], details)]


def _mapping(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


# Classification.

_REQUEST_IDS: Final = (
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-goog-request-id",
)
"""What vendors call their own name for a request."""
REQUEST_ID_CHARS_MAX: Final = 100


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """`headers` have lower-case names."""
    found = next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)
    return None if found is None else found[:REQUEST_ID_CHARS_MAX]


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, now: datetime
) -> ProviderError:
    """The error in a response that is no stream. `headers` have lower-case names."""
    try:
        parsed: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    if isinstance(parsed, list):  # Google wraps errors of its stream method in a list
        parsed = next(iter(cast(list[object], parsed)), None)
    text = body.decode("utf-8", "replace")
    # Of a page from some proxy in between we keep nothing but that it was one.
    readable = text if parsed is not None else re.sub(r"<[^>]*>|\s+", " ", text)[:300].strip()
    error = _classified(parsed, readable, status=status, hint=retry_after(headers, parsed, now))
    named = _mapping(parsed).get("request_id")
    error.request_id = named[:REQUEST_ID_CHARS_MAX] if isinstance(named, str) else None
    match headers.get("x-should-retry"):
        case "false":
            error.retryable = False
        case "true" if error.kind in _PASSING:
            error.retryable = True
        case _:
            pass
    return error


def no_stream(body: bytes) -> ProviderError:
    """The error in a 200 that is no event stream. A gateway answers so when the server behind it
    fails: what it says of that counts."""
    try:
        parsed = _mapping(orjson.loads(body))
    except orjson.JSONDecodeError:
        parsed = {}
    if parsed.get("error"):
        return from_event(parsed)
    detail = f"the answer is no event stream: {body[:300].decode('utf-8', 'replace')}"
    return ProviderError(ErrorKind.CONFIG, detail, retryable=False)


def from_event(body: object) -> ProviderError:
    """The error inside a stream that began well: judged by its type, never by the status 200."""
    detail = orjson.dumps(body, default=str).decode()
    return _classified(body, detail, status=None, hint=_retry_info(body))


def _classified(
    body: object, detail: str, *, status: int | None, hint: float | None
) -> ProviderError:
    signals = _signals(body, detail, status=status, hinted=hint is not None)
    for row in ROWS:
        if row.matches(signals):
            error = ProviderError(
                row.kind,
                signals.message or detail or "no detail was given",
                retryable=row.retryable,
                status=status,
                retry_after_s=hint,
                rejected=rejected_setting(signals) if row.kind is ErrorKind.CONFIG else None,
            )
            error.attempts_max = row.attempts_max
            return error
    raise AssertionError("the last row matches everything")


def _signals(body: object, text: str, *, status: int | None, hinted: bool) -> Signals:
    outer = _mapping(body)
    error = outer.get("error")
    inner = _mapping(error) or outer
    message = error if isinstance(error, str) else inner.get("message") or outer.get("message")
    reasons = [detail.get("reason") for detail in _details(body)]
    codes = [
        inner.get("type"), inner.get("code"), inner.get("status"), *reasons,
    ]  # fmt: skip
    in_stream = status is None
    code, param = inner.get("code"), inner.get("param")
    return Signals(
        # Inside a stream some vendors repeat the status as a number; nothing is read from texts.
        status=code if in_stream and isinstance(code, int) else status,
        codes=frozenset(str(code).lower() for code in codes if code is not None),
        text=text.lower(),
        message=message if isinstance(message, str) else "",
        hinted=hinted,
        param=param if isinstance(param, str) else "",
    )


# The errors that we notice ourselves.


def incomplete(detail: str = "the stream ended without its terminal event") -> ProviderError:
    return ProviderError(ErrorKind.STREAM_CLOSED, detail, retryable=True)


def protocol(detail: str, *, retryable: bool = False) -> ProviderError:
    """The provider broke its own protocol, or our codec does not know it."""
    return ProviderError(ErrorKind.UNKNOWN, f"protocol: {detail}", retryable=retryable)


def filtered(finish: str, details: Mapping[str, Any] | None = None) -> ProviderError:
    """`details`: the category and the provider's explanation, where it gives them."""
    given = details or {}
    said = [f"{key} {given[key]!r}" for key in ("category", "explanation") if given.get(key)]
    detail = ", ".join([f"finished with {finish!r}", *said])
    return ProviderError(ErrorKind.CONTENT_FILTER, detail, retryable=False)


def note_unknown(field: str, value: str) -> None:
    """A word that this version does not know. The reply is taken as complete; an operator should
    see that the provider's protocol has grown."""
    _LOG.warning("unknown word of a provider", extra={"field": field, "value": value[:100]})


def timed_out(clock: str, seconds: float) -> ProviderError:
    """One of the clocks of an attempt ran out: the next attempt may do better."""
    return ProviderError(ErrorKind.TIMEOUT, f"{clock} deadline of {seconds:g} s", retryable=True)


def own_deadline(seconds: float) -> ProviderError:
    """The time that the caller gave the whole attempt is up: trying again would not give more."""
    detail = f"our own deadline of {seconds:g} s"
    return ProviderError(ErrorKind.TIMEOUT, detail, retryable=False, own_deadline=True)
