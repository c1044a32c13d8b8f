"""Which signals of a failed request mean which kind of error: the first row that matches wins.

The order is the precedence (L48): what is said about the request or the account goes before what
the status says about the server, because gateways put one inside the other. Texts are matched only
here, and only as words; numbers in them (ports, stream ids) are never read as statuses (L49).
"""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.domain.chat import ErrorKind


@dataclass(frozen=True, slots=True)
class Signals:
    """What a failed request says about itself."""

    status: int | None
    codes: frozenset[str]  # types, codes and reasons, in lower case
    text: str  # everything that was said, in lower case
    message: str  # what the provider meant for people
    hinted: bool  # says when to come back
    param: str = ""  # the setting that the provider names


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """All of the conditions that a row names must hold; `codes` and `text` are alternatives."""

    name: str
    kind: ErrorKind
    retryable: bool = False
    statuses: frozenset[int] | None = None
    codes: frozenset[str] = frozenset()
    text: re.Pattern[str] | None = None
    hinted: bool | None = None
    attempts_max: int | None = None  # at a step; None: as the policy says

    def matches(self, signals: Signals) -> bool:
        if self.statuses is not None and signals.status not in self.statuses:
            return False
        if self.hinted is not None and signals.hinted is not self.hinted:
            return False
        if not self.codes and self.text is None:
            return True
        if self.codes & signals.codes:
            return True
        return self.text is not None and self.text.search(signals.text) is not None


def _statuses(*ranges: int | range) -> frozenset[int]:
    return frozenset(
        status
        for item in ranges
        for status in ((item,) if isinstance(item, int) else item)
    )  # fmt: skip


def _codes(names: str) -> frozenset[str]:
    return frozenset(names.split())


ROWS: Final[tuple[ErrorRow, ...]] = (
    ErrorRow(  # Groq, with all that the model wrote: first, for those words say nothing about it
        name="call that is none",
        kind=ErrorKind.UNKNOWN,
        retryable=True,
        codes=_codes("tool_use_failed"),
        attempts_max=2,  # the model may do better once; then it is the tool or the prompt
    ),
    ErrorRow(
        name="filtered",
        kind=ErrorKind.CONTENT_FILTER,
        codes=_codes(
            "content_filter content_policy_violation responsibleaipolicyviolation invalid_prompt"
            " content_filter_error prohibited_content safety"
        ),
        text=re.compile(
            r"content management policy|content[ _]filter(ing|ed)? (policy|triggered)"
            r"|safety system|flagged as potentially violating|blocked by .{0,30}safety"
        ),
    ),
    ErrorRow(
        name="overflow",
        kind=ErrorKind.CONTEXT_OVERFLOW,
        codes=_codes("context_length_exceeded context_window_exceeded string_above_max_length"),
        text=re.compile(
            r"prompt is too long|maximum context length|exceeds? the (model'?s )?context"
            r"|context (window|length|limit) (is |was )?exceeded|exceed(s|ed)? context limit"
            r"|input token count.{0,40}exceeds|input is too long|too many (input )?tokens in"
            r"|reduce the length of the (messages|prompt|input)|longer than the model'?s context"
        ),
    ),
    ErrorRow(
        name="too large",
        kind=ErrorKind.CONTEXT_OVERFLOW,
        statuses=_statuses(413),
    ),
    ErrorRow(  # more than a minute allows: waiting does not help, a shorter prompt does
        name="larger than the limit",
        kind=ErrorKind.CONTEXT_OVERFLOW,
        statuses=_statuses(429),
        text=re.compile(r"request too large for|tokens must be reduced in order to run"),
    ),
    ErrorRow(  # Google says "quota" for what passes in seconds; then it also says when to come back
        name="hinted quota",
        kind=ErrorKind.RATE_LIMIT,
        retryable=True,
        codes=_codes("resource_exhausted"),
        hinted=True,
    ),
    ErrorRow(
        name="account spent",
        kind=ErrorKind.USAGE_LIMIT,
        codes=_codes(
            "insufficient_quota billing_hard_limit_reached billing_error billing_not_active"
            " quota_exceeded insufficient_credits usage_limit_reached"
        ),
        text=re.compile(
            r"insufficient[_ ](quota|credits|balance|funds)|exceeded your (current|monthly) quota"
            r"|credit balance is too low|out of credits|(spending|usage|billing) limit"
            r"|check your plan and billing|payment required|quota (has been )?(exceeded|exhausted)"
        ),
    ),
    ErrorRow(name="payment", kind=ErrorKind.USAGE_LIMIT, statuses=_statuses(402)),
    ErrorRow(
        name="quota at the door",
        kind=ErrorKind.USAGE_LIMIT,
        statuses=_statuses(401, 403),
        text=re.compile(r"\bquota\b"),
    ),
    ErrorRow(
        name="wrong credentials",
        kind=ErrorKind.AUTH,
        codes=_codes(
            "authentication_error invalid_api_key permission_error permission_denied"
            " unauthenticated api_key_invalid invalid_authentication accessdeniedexception"
            " unrecognizedclientexception expiredtokenexception invalidsignatureexception"
        ),
        text=re.compile(r"(invalid|incorrect|missing) (x-)?api[- ]key|api key not valid"),
    ),
    ErrorRow(name="not allowed", kind=ErrorKind.AUTH, statuses=_statuses(401, 403)),
    ErrorRow(
        name="wrong model",
        kind=ErrorKind.CONFIG,
        codes=_codes(
            "model_not_found invalid_model model_not_available deploymentnotfound"
            " operationnotsupported unsupported_model"
        ),
        text=re.compile(
            r"(invalid|unknown|unsupported) model|model.{0,80}(not found|does not exist|not exist)"
            r"|no such model|is not a valid model|model.{0,60}is not (available|supported)"
        ),
    ),
    ErrorRow(
        name="protocol reset",
        kind=ErrorKind.STREAM_CLOSED,
        text=re.compile(r"\bprotocol_error\b"),
    ),
    ErrorRow(
        name="closed on the way",
        kind=ErrorKind.STREAM_CLOSED,
        retryable=True,
        codes=_codes("cancelled canceled aborted"),
        text=re.compile(
            r"\bgoaway\b|connection (was )?(forcibly |force[- ])?closed|force-?closed"
            r"|connection reset|reset by peer|broken pipe|unexpected eof"
        ),
    ),
    ErrorRow(
        name="client closed", kind=ErrorKind.STREAM_CLOSED, retryable=True, statuses=_statuses(499)
    ),
    ErrorRow(
        name="overloaded",
        kind=ErrorKind.OVERLOADED,
        retryable=True,
        codes=_codes("overloaded_error overloaded slow_down engine_overloaded capacity_exceeded"),
    ),
    ErrorRow(
        name="overloaded status",
        kind=ErrorKind.OVERLOADED,
        retryable=True,
        statuses=_statuses(498, 529),  # 498: Groq's flex tier
    ),
    ErrorRow(
        name="no capacity",
        kind=ErrorKind.OVERLOADED,
        retryable=True,
        statuses=_statuses(503),
        text=re.compile(r"overloaded|capacity|high demand|too busy"),
    ),
    ErrorRow(
        name="limited",
        kind=ErrorKind.RATE_LIMIT,
        retryable=True,
        codes=_codes(
            "rate_limit_error rate_limit_exceeded rate_limited resource_exhausted"
            " too_many_requests throttlingexception tokens requests"
        ),
    ),
    ErrorRow(
        name="limited status", kind=ErrorKind.RATE_LIMIT, retryable=True, statuses=_statuses(429)
    ),
    ErrorRow(
        name="too slow",
        kind=ErrorKind.TIMEOUT,
        retryable=True,
        codes=_codes("timeout_error timeout deadline_exceeded request_timeout"),
    ),
    ErrorRow(
        name="too slow status",
        kind=ErrorKind.TIMEOUT,
        retryable=True,
        statuses=_statuses(408, 504, 524),
    ),
    ErrorRow(
        name="server trouble",
        kind=ErrorKind.UNAVAILABLE,
        retryable=True,
        codes=_codes(
            "api_error server_error internal_error internal internal_server_error unavailable"
            " service_unavailable upstream_error bad_gateway vector_store_timeout"
        ),
    ),
    ErrorRow(
        name="server trouble status",
        kind=ErrorKind.UNAVAILABLE,
        retryable=True,
        statuses=_statuses(409, 425, range(500, 600)),
    ),
    ErrorRow(
        name="bad request",
        kind=ErrorKind.CONFIG,
        codes=_codes(
            "invalid_request_error not_found_error invalid_argument failed_precondition not_found"
            " unsupported_parameter unsupported_value invalid_value"
        ),
    ),
    ErrorRow(name="refused status", kind=ErrorKind.CONFIG, statuses=_statuses(range(300, 500))),
    ErrorRow(name="anything else", kind=ErrorKind.UNKNOWN),
)
