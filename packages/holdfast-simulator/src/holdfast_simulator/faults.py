"""The faults that can be asked for by name, each with one line that says what reaches the wire.

They strike at four places. ANSWER: instead of a stream, another HTTP answer. TRANSPORT: the bytes
of a right answer stop, hang or are cut. EVENTS: the events of the stream are wrong. REPLY: the
stream is right and what it says is not. Where a wire has no analogue, the line says what is done
instead.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Place(StrEnum):
    ANSWER = "answer"
    TRANSPORT = "transport"
    EVENTS = "events"
    REPLY = "reply"


class Fault(StrEnum):
    RATE_LIMIT_SECONDS = "rate-limit-seconds"
    RATE_LIMIT_MS = "rate-limit-ms"
    RATE_LIMIT_DATE = "rate-limit-date"
    RATE_LIMIT_GOOGLE = "rate-limit-google"
    RATE_LIMIT_BARE = "rate-limit-bare"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server-error"
    BAD_GATEWAY_HTML = "bad-gateway-html"
    UNAVAILABLE = "unavailable"
    GATEWAY_TIMEOUT = "gateway-timeout"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    MODEL_NOT_FOUND = "model-not-found"
    TOO_LARGE = "too-large"
    CONTEXT_OVERFLOW = "context-overflow"
    INVALID_REQUEST = "invalid-request"
    TEMPERATURE_REJECTED = "temperature-rejected"
    REDIRECT = "redirect"
    PORTAL_HTML = "portal-html"
    WRONG_CONTENT_TYPE = "wrong-content-type"
    GZIP = "gzip"
    GZIP_UNLABELLED = "gzip-unlabelled"
    GZIP_TRUNCATED = "gzip-truncated"
    GZIP_ERROR = "gzip-error"
    REQUEST_TOO_LARGE = "request-too-large"
    PAYMENT_REQUIRED = "payment-required"
    ACCESS_EXPIRED = "access-expired"
    TOOL_USE_FAILED = "tool-use-failed"
    SUMMARY_REJECTED = "summary-rejected"
    EFFORT_REJECTED = "effort-rejected"
    STREAM_OPTIONS_REJECTED = "stream-options-rejected"
    UNPROCESSABLE = "unprocessable"
    REQUEST_TIMEOUT = "request-timeout"
    CONFLICT = "conflict"
    CAPACITY_EXCEEDED = "capacity-exceeded"
    NO_CONTENT = "no-content"
    BLOCKED_HTML = "blocked-html"
    ORIGIN_TIMEOUT = "origin-timeout"
    ERROR_IN_JSON = "error-in-json"
    NOT_STREAMED = "not-streamed"
    EARLY_HINTS = "early-hints"

    EOF_AT_ONCE = "eof-at-once"
    EOF_MID = "eof-mid"
    EOF_MID_EVENT = "eof-mid-event"
    EOF_MID_UTF8 = "eof-mid-utf8"
    EOF_BEFORE_TERMINAL = "eof-before-terminal"
    EOF_BEFORE_DONE = "eof-before-done"
    CLOSED_MID = "closed-mid"
    RESET_BEFORE_HEADERS = "reset-before-headers"
    RESET_MID = "reset-mid"
    HANG_BEFORE_HEADERS = "hang-before-headers"
    HANG_BEFORE_EVENT = "hang-before-event"
    HANG_MID = "hang-mid"
    HANG_AFTER_END = "hang-after-end"
    PINGS_FOREVER = "pings-forever"
    PINGS_MID = "pings-mid"
    DRIP = "drip"
    HANG_IN_EVENT = "hang-in-event"
    CLOSED_AFTER_END = "closed-after-end"
    GARBAGE_AFTER_END = "garbage-after-end"
    HTML_MID = "html-mid"
    BYTE_ORDER_MARK = "byte-order-mark"

    ERROR_OVERLOADED = "error-overloaded"
    ERROR_RATE_LIMIT = "error-rate-limit"
    ERROR_SERVER = "error-server"
    ERROR_CONTEXT = "error-context"
    ERROR_FIRST = "error-first"
    HUGE_EVENT = "huge-event"
    INVALID_JSON = "invalid-json"
    NOT_AN_OBJECT = "not-an-object"
    DUPLICATED_EVENTS = "duplicated-events"
    UNKNOWN_EVENTS = "unknown-events"
    INTERLEAVED = "interleaved"
    MISSING_USAGE = "missing-usage"
    SSE_QUIRKS = "sse-quirks"
    ERROR_TIMEOUT = "error-timeout"
    ERROR_UNKNOWN = "error-unknown"
    TWO_ENDS = "two-ends"
    LATE_DELTA = "late-delta"
    MISSING_START = "missing-start"
    EMPTY_CHOICES = "empty-choices"

    EMPTY_TEXT = "empty-text"
    EMPTY_REPLY = "empty-reply"
    BROKEN_ARGUMENTS = "broken-arguments"
    NON_OBJECT_ARGUMENTS = "non-object-arguments"
    UNKNOWN_TOOL = "unknown-tool"
    DUPLICATE_CALL_IDS = "duplicate-call-ids"
    CONTENT_FILTER = "content-filter"
    REFUSAL = "refusal"
    LENGTH_IN_ARGUMENTS = "length-in-arguments"
    NULL_FINISH = "null-finish"
    UNKNOWN_FINISH = "unknown-finish"
    SYSTEM_RESOURCE = "system-resource"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class About:
    place: Place
    line: str


A, T, E, R = Place.ANSWER, Place.TRANSPORT, Place.EVENTS, Place.REPLY
F = Fault

ABOUT: Final[dict[Fault, About]] = {
    F.RATE_LIMIT_SECONDS: About(A, "429 with `retry-after: 7`"),
    F.RATE_LIMIT_MS: About(A, "429 with `retry-after-ms: 1500` beside `retry-after: 2`"),
    F.RATE_LIMIT_DATE: About(A, "429 with `retry-after` as an HTTP date 7 seconds ahead"),
    F.RATE_LIMIT_GOOGLE: About(
        A,
        "429 with Google's `retryDelay: 7s` in `error.details`; elsewhere the same list is "
        "added to that wire's error, as a gateway in front of Google does",
    ),
    F.RATE_LIMIT_BARE: About(A, "429 without any hint when to come back"),
    F.QUOTA: About(
        A,
        "429 `insufficient_quota`; Anthropic: 400, credit balance too low; Gemini: 429, "
        "current quota exceeded",
    ),
    F.OVERLOADED: About(A, "529 `overloaded_error`, in each wire's own error shape"),
    F.SERVER_ERROR: About(A, "500 in each wire's own error shape"),
    F.BAD_GATEWAY_HTML: About(A, "502 with an HTML page of a proxy"),
    F.UNAVAILABLE: About(A, "503 in each wire's own error shape, `retry-after: 2`"),
    F.GATEWAY_TIMEOUT: About(A, "504 with an empty body"),
    F.UNAUTHORIZED: About(
        A, "401, the key is refused; Gemini: 400 API_KEY_INVALID, as Google does"
    ),
    F.FORBIDDEN: About(A, "403, the key may not use this model"),
    F.MODEL_NOT_FOUND: About(A, "404, no such model; Responses: 400 `model_not_found`"),
    F.TOO_LARGE: About(A, "413, the request is too large"),
    F.CONTEXT_OVERFLOW: About(A, "400, the prompt is longer than the context window"),
    F.INVALID_REQUEST: About(A, "400, some parameter is wrong"),
    F.TEMPERATURE_REJECTED: About(A, "400, this model takes no `temperature`"),
    F.REDIRECT: About(A, "307 to another path of this server; following it is recorded"),
    F.PORTAL_HTML: About(A, "200 with an HTML page, as a captive portal answers"),
    F.WRONG_CONTENT_TYPE: About(A, "200, the right events under `content-type: text/html`"),
    F.GZIP: About(A, "the right events, gzip-encoded whether or not the client accepts it"),
    F.GZIP_UNLABELLED: About(A, "the right events, gzip-encoded, without saying so"),
    F.GZIP_TRUNCATED: About(A, "half of the events, gzip-encoded, and no end of the gzip data"),
    F.GZIP_ERROR: About(A, "429 with `retry-after: 7` and a gzip-encoded body"),
    F.REQUEST_TOO_LARGE: About(
        A,
        "429, this one request is larger than the limit of tokens per minute, in the words of "
        "OpenAI and in each wire's own error shape",
    ),
    F.PAYMENT_REQUIRED: About(A, "402, the account has no credit"),
    F.ACCESS_EXPIRED: About(A, "401, the access token has expired"),
    F.TOOL_USE_FAILED: About(
        A,
        "400 `tool_use_failed` of Groq, with what the model wrote instead of a call, in each "
        "wire's own error shape",
    ),
    F.SUMMARY_REJECTED: About(
        A,
        "400, the thinking may not be shown: `thinking.adaptive.display`, `reasoning.summary` "
        "(also on Chat Completions), `Thinking_config.include_thoughts`",
    ),
    F.EFFORT_REJECTED: About(
        A,
        "400, no effort: `output_config.effort`, `reasoning.effort`, `reasoning_effort`, "
        "`thinking_level`",
    ),
    F.STREAM_OPTIONS_REJECTED: About(
        A, "422, no `stream_options`, in the words of Mistral and in each wire's own error shape"
    ),
    F.UNPROCESSABLE: About(A, "422, some field is wrong"),
    F.REQUEST_TIMEOUT: About(A, "408, the request came too slowly"),
    F.CONFLICT: About(A, "409, another request holds a lock"),
    F.CAPACITY_EXCEEDED: About(A, "498 `capacity_exceeded`, as Groq's flex tier answers"),
    F.NO_CONTENT: About(A, "204 without a body"),
    F.BLOCKED_HTML: About(A, "403 with an HTML page of a firewall"),
    F.ORIGIN_TIMEOUT: About(A, "524 with an HTML page: the proxy waited in vain"),
    F.ERROR_IN_JSON: About(
        A, "200 with JSON instead of a stream, and in it the error of an overloaded server"
    ),
    F.NOT_STREAMED: About(A, "200 with the whole reply as JSON: `stream` was ignored"),
    F.EARLY_HINTS: About(A, "a 103 before the right answer"),
    F.EOF_AT_ONCE: About(T, "200 and headers, then a clean end without any event"),
    F.EOF_MID: About(T, "a clean end between two events, in the middle"),
    F.EOF_MID_EVENT: About(T, "a clean end inside the JSON of an event"),
    F.EOF_MID_UTF8: About(T, "a clean end inside the bytes of one character"),
    F.EOF_BEFORE_TERMINAL: About(
        T,
        "a clean end before anything that proves the end: `message_delta`, "
        "`response.completed`, the chunk with `finish_reason`, the chunk with `finishReason`",
    ),
    F.EOF_BEFORE_DONE: About(
        T,
        "only the very last event is missing: `message_stop`, `[DONE]`; Responses and Gemini "
        "have one terminal event, so there it equals eof-before-terminal",
    ),
    F.CLOSED_MID: About(T, "the socket is closed in the middle, without the last HTTP chunk"),
    F.RESET_BEFORE_HEADERS: About(T, "TCP reset before the first byte of the answer"),
    F.RESET_MID: About(T, "TCP reset in the middle"),
    F.HANG_BEFORE_HEADERS: About(T, "the request is read and never answered"),
    F.HANG_BEFORE_EVENT: About(T, "200 and headers, then silence"),
    F.HANG_MID: About(T, "silence in the middle"),
    F.HANG_AFTER_END: About(T, "the whole stream, then the connection stays open in silence"),
    F.PINGS_FOREVER: About(
        T, "200, then pings and nothing else; SSE comments where the wire has no ping event"
    ),
    F.PINGS_MID: About(T, "half of the stream, then pings and nothing else"),
    F.DRIP: About(T, "the right bytes, one per second (`every=MS` to change)"),
    F.HANG_IN_EVENT: About(T, "silence inside the JSON of an event"),
    F.CLOSED_AFTER_END: About(T, "the whole stream, then the socket without the last HTTP chunk"),
    F.GARBAGE_AFTER_END: About(T, "the whole stream, then the HTML page of a proxy"),
    F.HTML_MID: About(T, "half of the stream, then the HTML page of a proxy and a clean end"),
    F.BYTE_ORDER_MARK: About(T, "a byte order mark, then the right stream"),
    F.ERROR_OVERLOADED: About(E, "an overloaded error as an event in the middle of a 200"),
    F.ERROR_RATE_LIMIT: About(E, "a rate-limit error as an event in the middle of a 200"),
    F.ERROR_SERVER: About(E, "a server error as an event in the middle of a 200"),
    F.ERROR_CONTEXT: About(E, "a context-overflow error as an event in the middle of a 200"),
    F.ERROR_FIRST: About(E, "a server error as the first event of a 200"),
    F.HUGE_EVENT: About(E, "one event of 100 MB (`size=BYTES` to change) in the middle"),
    F.INVALID_JSON: About(E, "an event in the middle whose data is not JSON; then the rest"),
    F.NOT_AN_OBJECT: About(E, "an event in the middle whose data is a JSON array; then the rest"),
    F.DUPLICATED_EVENTS: About(E, "every delta is sent twice, byte for byte"),
    F.UNKNOWN_EVENTS: About(E, "events of undocumented types, between the others"),
    F.INTERLEAVED: About(
        E,
        "the deltas of two parallel parts interleaved by index; Gemini has no indices: the "
        "calls come in reverse order",
    ),
    F.MISSING_USAGE: About(E, "no usage anywhere in the stream"),
    F.SSE_QUIRKS: About(
        E, "legal but rare SSE: comments, `id:`, `retry:`, no space after the colon, split data"
    ),
    F.ERROR_TIMEOUT: About(E, "a timeout of the server as an event in the middle of a 200"),
    F.ERROR_UNKNOWN: About(
        E, "an error of an undocumented type as an event in the middle of a 200"
    ),
    F.TWO_ENDS: About(E, "the events that end the stream are sent twice"),
    F.LATE_DELTA: About(
        E, "a delta that was sent before is sent again after the event that says why it ended"
    ),
    F.MISSING_START: About(
        E, "the opening event is missing; Gemini has none: its first chunk has no `responseId`"
    ),
    F.EMPTY_CHOICES: About(
        E,
        "chunks with no choices or candidates between the others; Anthropic: pings; Responses: "
        "`response.in_progress`",
    ),
    F.EMPTY_TEXT: About(R, "an empty text part before the others"),
    F.EMPTY_REPLY: About(R, "a stream that ends well and says nothing"),
    F.BROKEN_ARGUMENTS: About(
        R,
        "a tool call whose arguments are not JSON; Gemini sends parsed arguments, so there: "
        "`MALFORMED_FUNCTION_CALL` and no call",
    ),
    F.NON_OBJECT_ARGUMENTS: About(R, "a tool call whose arguments are a JSON array"),
    F.UNKNOWN_TOOL: About(R, "a call of a tool that was not offered"),
    F.DUPLICATE_CALL_IDS: About(
        R, "two calls with one id; Gemini: ids are sent although the model has none"
    ),
    F.CONTENT_FILTER: About(
        R,
        "the reply is cut by a filter; Anthropic has no such reason and ends with `refusal`; "
        "Gemini: `SAFETY`",
    ),
    F.REFUSAL: About(
        R,
        "reasoning, then a refusal and no text: `refusal`; OpenAI wires: a refusal part; "
        "Gemini: `PROHIBITED_CONTENT`",
    ),
    F.LENGTH_IN_ARGUMENTS: About(
        R,
        "the output limit strikes inside the arguments of a call; Gemini sends calls whole, so "
        "there: `MAX_TOKENS` and no call",
    ),
    F.NULL_FINISH: About(
        R,
        "the terminal event comes without its reason: null `stop_reason`, null `finish_reason` "
        "and [DONE], `status: in_progress`, no `finishReason`",
    ),
    F.UNKNOWN_FINISH: About(
        R,
        "the whole reply with an undocumented reason for its end; Responses: `incomplete` with an "
        "undocumented reason",
    ),
    F.SYSTEM_RESOURCE: About(
        R,
        "the server gives up: `insufficient_system_resource` of DeepSeek; Responses: "
        "`response.failed`; Gemini: `OTHER`; Anthropic has no such reason and gives none",
    ),
    F.PAUSED: About(
        R,
        "the reply is to go on in another request: `pause_turn`, `CONTINUATION`; the OpenAI wires "
        "have no such reason and end",
    ),
}

assert set(ABOUT) == set(Fault), "every fault has its line"
assert len(Fault) >= 80


@dataclass(frozen=True, slots=True)
class FaultAt:
    """A fault and, if the place can be chosen, after how many deltas it strikes."""

    fault: Fault
    after: int | None = None

    @property
    def place(self) -> Place:
        return ABOUT[self.fault].place


def parse_fault(text: str) -> FaultAt:
    """`name` or `name@deltas`; ValueError names what is wrong."""
    name, _, after = text.strip().partition("@")
    if name not in set(Fault):
        raise ValueError(
            f"no fault is called {name!r}; `holdfast lab simulate --faults` lists them"
        )
    if after and not after.isdigit():
        raise ValueError(f"{text!r}: after the @ stands a number of deltas")
    return FaultAt(Fault(name), int(after) if after else None)
