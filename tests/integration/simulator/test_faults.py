"""Every fault reaches the wire as its line says, on each of the four wires."""

import asyncio

import pytest

from holdfast_simulator.asked import WireName
from holdfast_simulator.faults import Fault
from holdfast_simulator.server import Simulator
from tests.support.fault_checks import (
    Check,
    bad_arguments,
    bare,
    broken_off,
    closed_late,
    contains,
    doubled,
    dripping,
    empty_text,
    ended_twice,
    error_event,
    error_in_json,
    given_up,
    google_delay,
    half_zipped,
    hinted,
    hollow,
    huge,
    interleaved,
    invalid,
    late,
    late_date,
    length_in_arguments,
    lingering,
    list_arguments,
    marked,
    mid_event,
    mid_utf8,
    mislabelled,
    no_answer,
    no_content,
    no_usage,
    one_piece,
    page,
    paged,
    pinging,
    quirky,
    redirected,
    refused,
    refused_by,
    said,
    same_ids,
    says_nothing,
    unknown,
    unopened,
    without_done,
    without_reason,
    zipped,
    zipped_error,
)
from tests.support.raw_http import Ending, post
from tests.support.simulator import KEYS, PATHS, body

A, R, C, G = WireName.ANTHROPIC, WireName.RESPONSES, WireName.CHAT, WireName.GEMINI
F = Fault
PROMPT = (
    '[[sim: say "Let me see what the sky says today." '
    '| call get_weather {"city":"Oslo or Bergen, whichever is drier"}]]'
)
HANG_S = 0.8
"""How long we wait before we say that nothing more comes; a busy machine needs some of it."""


CHECKS: dict[Fault, Check] = {
    F.RATE_LIMIT_SECONDS: refused(429, retry_after="7"),
    F.RATE_LIMIT_MS: refused(429, retry_after_ms="1500", retry_after="2"),
    F.RATE_LIMIT_DATE: late_date,
    F.RATE_LIMIT_GOOGLE: google_delay,
    F.RATE_LIMIT_BARE: bare,
    F.QUOTA: refused_by(anthropic=400, other=429),
    F.OVERLOADED: refused(529, "verloaded"),
    F.SERVER_ERROR: refused(500),
    F.BAD_GATEWAY_HTML: page(502),
    F.UNAVAILABLE: refused(503, retry_after="2"),
    F.GATEWAY_TIMEOUT: page(504),
    F.UNAUTHORIZED: refused_by(gemini=400, other=401),
    F.FORBIDDEN: refused(403),
    F.MODEL_NOT_FOUND: refused_by(responses=400, other=404),
    F.TOO_LARGE: refused(413),
    F.CONTEXT_OVERFLOW: refused(400),
    F.INVALID_REQUEST: refused(400),
    F.TEMPERATURE_REJECTED: refused(400, "temperature"),
    F.REDIRECT: redirected,
    F.PORTAL_HTML: page(200),
    F.WRONG_CONTENT_TYPE: mislabelled,
    F.GZIP: zipped(labelled=True),
    F.GZIP_UNLABELLED: zipped(labelled=False),
    F.GZIP_TRUNCATED: half_zipped,
    F.GZIP_ERROR: zipped_error,
    F.REQUEST_TOO_LARGE: refused(429, "Request too large"),
    F.PAYMENT_REQUIRED: refused(402),
    F.ACCESS_EXPIRED: refused(401),
    F.TOOL_USE_FAILED: refused(400, "failed_generation"),
    F.SUMMARY_REJECTED: refused(400),
    F.EFFORT_REJECTED: refused(400),
    F.STREAM_OPTIONS_REJECTED: refused(422, "stream_options"),
    F.UNPROCESSABLE: refused(422, "Field required"),
    F.REQUEST_TIMEOUT: refused(408),
    F.CONFLICT: refused(409),
    F.CAPACITY_EXCEEDED: refused(498, "capacity"),
    F.NO_CONTENT: no_content,
    F.BLOCKED_HTML: page(403),
    F.ORIGIN_TIMEOUT: page(524),
    F.ERROR_IN_JSON: error_in_json,
    F.NOT_STREAMED: one_piece,
    F.EARLY_HINTS: hinted,
    F.EOF_AT_ONCE: broken_off(Ending.CLEAN, events=False),
    F.EOF_MID: broken_off(Ending.CLEAN),
    F.EOF_MID_EVENT: mid_event,
    F.EOF_MID_UTF8: mid_utf8,
    F.EOF_BEFORE_TERMINAL: broken_off(Ending.CLEAN),
    F.EOF_BEFORE_DONE: without_done,
    F.CLOSED_MID: broken_off(Ending.CLOSED),
    F.RESET_BEFORE_HEADERS: no_answer(Ending.RESET),
    F.RESET_MID: broken_off(Ending.RESET),
    F.HANG_BEFORE_HEADERS: no_answer(Ending.SILENT),
    F.HANG_BEFORE_EVENT: broken_off(Ending.SILENT, events=False),
    F.HANG_MID: broken_off(Ending.SILENT),
    F.HANG_AFTER_END: lingering,
    F.PINGS_FOREVER: pinging(events=False),
    F.PINGS_MID: pinging(events=True),
    F.DRIP: dripping,
    F.HANG_IN_EVENT: broken_off(Ending.SILENT),
    F.CLOSED_AFTER_END: closed_late,
    F.GARBAGE_AFTER_END: paged(ended=True),
    F.HTML_MID: paged(ended=False),
    F.BYTE_ORDER_MARK: marked,
    F.ERROR_OVERLOADED: error_event(
        said(a="overloaded_error", r='"overloaded"', c='"overloaded"', g='"UNAVAILABLE"')
    ),
    F.ERROR_RATE_LIMIT: error_event(
        said(a="rate_limit_error", r="rate_limit_exceeded", c="rate_limit_exceeded", g="429")
    ),
    F.ERROR_SERVER: error_event(
        said(a="api_error", r="response.failed", c="server_error", g='"INTERNAL"')
    ),
    F.ERROR_CONTEXT: error_event(
        said(
            a="prompt is too long",
            r="context_length_exceeded",
            c="context_length_exceeded",
            g="exceeds the maximum number of tokens",
        )
    ),
    F.ERROR_FIRST: error_event(
        said(a="api_error", r="response.failed", c="server_error", g='"INTERNAL"'), first=True
    ),
    F.ERROR_TIMEOUT: error_event(
        said(a="timeout_error", r="request_timeout", c="request_timeout", g="DEADLINE_EXCEEDED")
    ),
    F.ERROR_UNKNOWN: error_event(
        said(a="brand_new_error", r="brand_new", c="brand_new", g="BRAND_NEW")
    ),
    F.TWO_ENDS: ended_twice,
    F.LATE_DELTA: late,
    F.MISSING_START: unopened,
    F.EMPTY_CHOICES: hollow,
    F.HUGE_EVENT: huge,
    F.INVALID_JSON: invalid("{"),
    F.NOT_AN_OBJECT: invalid("["),
    F.DUPLICATED_EVENTS: doubled,
    F.UNKNOWN_EVENTS: unknown,
    F.INTERLEAVED: interleaved,
    F.MISSING_USAGE: no_usage,
    F.SSE_QUIRKS: quirky,
    F.EMPTY_TEXT: empty_text,
    F.EMPTY_REPLY: says_nothing,
    F.BROKEN_ARGUMENTS: bad_arguments,
    F.NON_OBJECT_ARGUMENTS: list_arguments,
    F.UNKNOWN_TOOL: contains(other=b"no_such_tool"),
    F.DUPLICATE_CALL_IDS: same_ids,
    F.CONTENT_FILTER: contains(
        anthropic=b'"stop_reason":"refusal"',
        responses=b'"reason":"content_filter"',
        chat=b'"finish_reason":"content_filter"',
        gemini=b'"finishReason":"SAFETY"',
    ),
    F.REFUSAL: contains(
        anthropic=b'"stop_reason":"refusal"',
        responses=b'"type":"refusal"',
        chat=b'"refusal":"I"',
        gemini=b'"finishReason":"PROHIBITED_CONTENT"',
    ),
    F.LENGTH_IN_ARGUMENTS: length_in_arguments,
    F.NULL_FINISH: without_reason,
    F.UNKNOWN_FINISH: contains(gemini=b'"OUT_OF_IDEAS"', other=b'"out_of_ideas"'),
    F.SYSTEM_RESOURCE: given_up,
    F.PAUSED: contains(
        anthropic=b'"stop_reason":"pause_turn"',
        responses=b'"response.completed"',
        chat=b'"finish_reason":"stop"',
        gemini=b'"finishReason":"CONTINUATION"',
    ),
}
SETTINGS = {F.HUGE_EVENT: {"x-sim-size": "200000"}, F.DRIP: {"x-sim-every": "0.01"}}


def test_every_fault_has_its_check() -> None:
    assert set(CHECKS) == set(Fault)


@pytest.mark.parametrize("wire", list(WireName))
@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_reaches_the_wire(simulator: Simulator, fault: Fault, wire: WireName) -> None:
    pings = "pings" in fault
    headers = KEYS[wire] | {"x-sim-fault": str(fault)} | SETTINGS.get(fault, {})
    async with asyncio.timeout(60):
        outcome = await post(
            simulator.url,
            PATHS[wire],
            body(wire, PROMPT, tools=True),
            headers | ({"x-sim-every": "2"} if pings else {}),
            silence_s=HANG_S if "hang" in fault else 50,
            bytes_max=8000 if pings else 1_000_000,
        )
    CHECKS[fault](outcome, wire)
    entry = simulator.record.get(1)
    assert entry is not None
    assert (entry.fault, entry.fault_struck) == (str(fault), True)


@pytest.mark.parametrize("wire", [A, R, C])
async def test_faults_strike_answers_that_are_no_stream(
    simulator: Simulator, wire: WireName
) -> None:
    expected = {
        F.EOF_MID: Ending.CLEAN,
        F.CLOSED_MID: Ending.CLOSED,
        F.HANG_MID: Ending.SILENT,
        F.INVALID_JSON: Ending.CLEAN,
        F.RESET_MID: Ending.RESET,
    }
    for fault, ending in expected.items():
        headers = KEYS[wire] | {"x-sim-fault": str(fault)}
        given = body(wire, PROMPT, stream=False)
        silence_s = HANG_S if ending is Ending.SILENT else 50
        outcome = await post(simulator.url, PATHS[wire], given, headers, silence_s=silence_s)
        assert outcome.ending is ending
        with pytest.raises(ValueError, match=r"JSON|character|unexpected"):
            outcome.json()
    headers = KEYS[wire] | {"x-sim-fault": str(F.ERROR_OVERLOADED)}
    outcome = await post(simulator.url, PATHS[wire], body(wire, PROMPT, stream=False), headers)
    assert outcome.status == 529


async def test_a_hundred_megabytes_are_streamed_without_being_held(simulator: Simulator) -> None:
    headers = KEYS[A] | {"x-sim-fault": "huge-event"}
    async with asyncio.timeout(60):
        outcome = await post(simulator.url, PATHS[A], body(A, PROMPT), headers, bytes_max=5_000_000)
    assert len(outcome.body) >= 5_000_000
    assert max(map(len, outcome.chunks)) <= 70_000
