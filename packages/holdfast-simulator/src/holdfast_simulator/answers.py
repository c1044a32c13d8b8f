"""The answers that are no stream: errors of a fault, redirects, pages of proxies."""

from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate
from typing import Final

from holdfast_simulator.clock import Clock
from holdfast_simulator.faults import Fault
from holdfast_simulator.inject import ERRORS
from holdfast_simulator.wires.base import Rejection, Trouble, Wire

RETRY_S: Final = 7
HTML_GATEWAY: Final = (
    b"<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n"
    b"<body><center><h1>502 Bad Gateway</h1></center><hr><center>proxy</center></body></html>\n"
)
HTML_PORTAL: Final = (
    b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head>\n"
    b"<body><h1>Please log in to use this network</h1></body></html>\n"
)
HTML_BLOCKED: Final = (
    b"<!DOCTYPE html>\n<html><head><title>Attention Required!</title></head>\n"
    b"<body><h1>Sorry, you have been blocked</h1></body></html>\n"
)
HTML_LATE: Final = (
    b"<!DOCTYPE html>\n<html><head><title>524: A timeout occurred</title></head>\n"
    b"<body><h1>A timeout occurred</h1></body></html>\n"
)
HTML: Final = "text/html; charset=utf-8"
REDIRECT_PATH: Final = "/sim/redirected"

REFUSED: Final = {
    Fault.RATE_LIMIT_SECONDS: Trouble.RATE_LIMIT,
    Fault.RATE_LIMIT_MS: Trouble.RATE_LIMIT,
    Fault.RATE_LIMIT_DATE: Trouble.RATE_LIMIT,
    Fault.RATE_LIMIT_GOOGLE: Trouble.RATE_LIMIT,
    Fault.RATE_LIMIT_BARE: Trouble.RATE_LIMIT,
    Fault.QUOTA: Trouble.QUOTA,
    Fault.OVERLOADED: Trouble.OVERLOADED,
    Fault.SERVER_ERROR: Trouble.SERVER,
    Fault.UNAVAILABLE: Trouble.UNAVAILABLE,
    Fault.UNAUTHORIZED: Trouble.UNAUTHORIZED,
    Fault.FORBIDDEN: Trouble.FORBIDDEN,
    Fault.MODEL_NOT_FOUND: Trouble.MODEL,
    Fault.TOO_LARGE: Trouble.TOO_LARGE,
    Fault.CONTEXT_OVERFLOW: Trouble.CONTEXT,
    Fault.INVALID_REQUEST: Trouble.INVALID,
    Fault.TEMPERATURE_REJECTED: Trouble.TEMPERATURE,
    Fault.GZIP_ERROR: Trouble.RATE_LIMIT,
    Fault.REQUEST_TOO_LARGE: Trouble.LIMIT,
    Fault.PAYMENT_REQUIRED: Trouble.PAYMENT,
    Fault.ACCESS_EXPIRED: Trouble.EXPIRED,
    Fault.TOOL_USE_FAILED: Trouble.TOOL_USE,
    Fault.SUMMARY_REJECTED: Trouble.SUMMARY,
    Fault.EFFORT_REJECTED: Trouble.EFFORT,
    Fault.STREAM_OPTIONS_REJECTED: Trouble.STREAM_OPTIONS,
    Fault.UNPROCESSABLE: Trouble.UNPROCESSABLE,
    Fault.REQUEST_TIMEOUT: Trouble.TIMEOUT,
    Fault.CONFLICT: Trouble.CONFLICT,
    Fault.CAPACITY_EXCEEDED: Trouble.CAPACITY,
    Fault.ERROR_IN_JSON: Trouble.OVERLOADED,
}
PAGES: Final[Mapping[Fault, tuple[int, bytes, dict[str, str]]]] = {
    Fault.BAD_GATEWAY_HTML: (502, HTML_GATEWAY, {"content-type": HTML}),
    Fault.PORTAL_HTML: (200, HTML_PORTAL, {"content-type": HTML}),
    Fault.GATEWAY_TIMEOUT: (504, b"", {"content-type": "text/plain"}),
    Fault.NO_CONTENT: (204, b"", {}),
    Fault.BLOCKED_HTML: (403, HTML_BLOCKED, {"content-type": HTML}),
    Fault.ORIGIN_TIMEOUT: (524, HTML_LATE, {"content-type": HTML}),
    Fault.REDIRECT: (307, b"", {"location": REDIRECT_PATH, "content-type": "text/plain"}),
}


def refusal(fault: Fault, wire: Wire, clock: Clock) -> tuple[Rejection, dict[str, str]] | None:
    """The refusal that this fault stands for, with its headers; None if it is none."""
    trouble = REFUSED.get(fault)
    if trouble is None:
        return None
    rejection = wire.troubles[trouble]
    if fault is Fault.RATE_LIMIT_GOOGLE:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        details = [*rejection.details, {"@type": kind, "retryDelay": f"{RETRY_S}s"}]
        rejection = replace(rejection, details=details)
    return rejection, _hints(fault, clock)


def unstreamed(fault: Fault, wire: Wire) -> Rejection | None:
    """An error event has no place in an answer that is no stream: it becomes the status."""
    trouble = ERRORS.get(fault)
    return None if trouble is None else wire.troubles[trouble]


def _hints(fault: Fault, clock: Clock) -> dict[str, str]:
    match fault:
        case Fault.RATE_LIMIT_SECONDS | Fault.GZIP_ERROR:
            return {"retry-after": str(RETRY_S)}
        case Fault.RATE_LIMIT_MS:
            return {"retry-after-ms": "1500", "retry-after": "2"}
        case Fault.RATE_LIMIT_DATE:
            return {"retry-after": formatdate(clock.wall_s() + RETRY_S, usegmt=True)}
        case Fault.UNAVAILABLE:
            return {"retry-after": "2"}
        case _:
            return {}
