"""Every fault of the simulator on every wire: the caller is told, in time, and keeps what came.

The run is one, of a simulator in a process of its own; the tests look at what came of it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import pytest_asyncio

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import ProviderStream
from holdfast.adapters.providers.transport import open_transport
from holdfast.domain.chat import ErrorKind
from holdfast_lab.chaos.faults.models.outcomes import ODD, RACING, REPEATED
from holdfast_lab.chaos.harness.simulator import simulator_process
from holdfast_simulator.faults import ABOUT, Fault, Place
from scripts import generate_provider_faults
from tests.requirements import requirement
from tests.support import provider_faults
from tests.support.fault_table import (
    SPEECH,
    WHOLE,
    content,
    silent_success,
    silent_successes,
)
from tests.support.model import WIRE_NAMES, call_for, user
from tests.support.provider_faults import DEADLINES, PROMPT, Account, Seen
from tests.support.simulated import endpoint_at

F, K = Fault, ErrorKind
LIMITED = {
    F.RATE_LIMIT_SECONDS: 7.0,
    F.RATE_LIMIT_MS: 1.5,
    F.RATE_LIMIT_GOOGLE: 7.0,
    F.GZIP_ERROR: 7.0,
}
UNANSWERED = {
    *(F.HANG_BEFORE_HEADERS, F.RESET_BEFORE_HEADERS, F.REDIRECT, F.PORTAL_HTML),
    *(F.BAD_GATEWAY_HTML, F.GATEWAY_TIMEOUT, F.BLOCKED_HTML, F.ORIGIN_TIMEOUT, F.NO_CONTENT),
}
"""Faults in which no header arrives, or those of another machine in between."""
OK = {
    *(F.PORTAL_HTML, F.WRONG_CONTENT_TYPE, F.GZIP, F.GZIP_TRUNCATED),
    *(F.ERROR_IN_JSON, F.NOT_STREAMED),
}
"""Answers with the status 200."""
PASSING = {K.RATE_LIMIT, K.OVERLOADED, K.TIMEOUT, K.STREAM_CLOSED, K.UNAVAILABLE}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def account() -> Account:
    return await provider_faults.run()


def seen_of(account: Account, *faults: Fault) -> Iterator[Seen]:
    for fault in faults:
        for wire in WIRE_NAMES:
            yield account.seen[fault, wire]


@pytest.mark.requirement("T14")
def test_every_fault_is_run_on_every_wire(account: Account) -> None:
    assert len(account.seen) == len(Fault) * len(WIRE_NAMES) >= 80 * 4
    for wire in WIRE_NAMES:
        plain = account.plain[wire].final
        assert plain is not None
        assert content(plain.parts) == [
            ("reasoning", "The sky, then."),
            ("text", "Let me see what the sky says today."),
            ("clock", {"city": "Oslo or Bergen, whichever is drier"}),
        ]


@pytest.mark.requirement("P1", "T14")
def test_no_damaged_stream_passes_for_a_reply(account: Account) -> None:
    replied = {fault for (fault, _), seen in account.seen.items() if seen.final is not None}

    assert silent_successes(account) == []
    assert replied == {*WHOLE, *ODD, *(fault for fault, _ in SPEECH)}


UNTOLD = {F.EOF_AT_ONCE, F.HANG_BEFORE_EVENT, F.PINGS_FOREVER, F.ERROR_FIRST, F.GZIP_UNLABELLED}
"""Streams of which no event of a reply arrives."""


@requirement("F09")
def test_the_log_line_of_every_answered_fault_has_its_request_id(account: Account) -> None:
    failed = {key: seen for key, seen in account.seen.items() if seen.error is not None}
    named = [seen.logged_id for (_, wire), seen in failed.items() if wire != "gemini"]
    assert {
        fault for (fault, wire), seen in failed.items() if wire != "gemini" and not seen.logged_id
    } == UNANSWERED
    assert len({*named} - {None}) == sum(each is not None for each in named), "one per request"


@requirement("F09")
def test_on_gemini_the_id_of_the_reply_names_a_stream_that_began(account: Account) -> None:
    """Google sends no name in a header; what is refused before a reply has none at all."""
    nameless = {
        fault
        for (fault, wire), seen in account.seen.items()
        if wire == "gemini" and seen.error is not None and seen.logged_id is None
    }
    refused = {fault for fault in Fault if ABOUT[fault].place is Place.ANSWER}
    early = {F.HANG_BEFORE_HEADERS, F.RESET_BEFORE_HEADERS, F.EOF_MID_UTF8, *UNTOLD}
    assert nameless <= refused | early
    assert account.seen[F.HANG_MID, "gemini"].logged_id


def test_the_table_knows_a_silent_success_when_it_sees_one(account: Account) -> None:
    whole = account.seen[F.DRIP, "chat"]
    assert whole.final is not None
    cut = replace(whole, final=replace(whole.final, parts=whole.final.parts[:-1]))
    plain = account.plain["chat"]

    assert not silent_success(F.DRIP, whole, plain)
    assert silent_success(F.DRIP, cut, plain)
    assert silent_success(F.INTERLEAVED, cut, plain)
    assert silent_success(F.EOF_MID, whole, plain)


@pytest.mark.requirement("L50", "T14")
def test_nothing_outlives_its_deadlines_and_nothing_is_left_behind(account: Account) -> None:
    assert account.late() == []
    assert (account.tasks_left, account.sockets_left) == (0, 0)


@pytest.mark.requirement("P1", "L43")
def test_a_stream_without_its_terminal_event_is_an_error_that_is_retried(account: Account) -> None:
    early = (F.EOF_AT_ONCE, F.EOF_MID, F.EOF_MID_EVENT, F.EOF_MID_UTF8, F.EOF_BEFORE_TERMINAL)
    for seen in seen_of(account, *early, F.NULL_FINISH, F.GZIP_UNLABELLED, F.HTML_MID):
        assert seen.error is not None
        assert (seen.error.kind, seen.error.retryable) == (K.STREAM_CLOSED, True)


@requirement("L44")
def test_a_lost_connection_is_retried_and_keeps_no_more_than_was_said(account: Account) -> None:
    for seen in seen_of(account, F.CLOSED_MID, F.RESET_MID, F.RESET_BEFORE_HEADERS):
        assert seen.error is not None
        assert (seen.error.kind, seen.error.retryable) == (K.STREAM_CLOSED, True)
    for fault in RACING:
        for wire in WIRE_NAMES:
            said = "".join(str(text) for _, text in content(account.seen[fault, wire].partial))
            before = "".join(
                str(text) for _, text in content(account.seen[F.EOF_MID, wire].partial)
            )
            assert before.startswith(said)


@pytest.mark.requirement("L45")
def test_the_hint_of_the_provider_is_read_in_every_form(account: Account) -> None:
    for fault, hint_s in LIMITED.items():
        for seen in seen_of(account, fault):
            assert seen.error is not None
            assert seen.error.retry_after_s == hint_s
    for seen in seen_of(account, F.RATE_LIMIT_DATE):
        assert seen.error is not None
        assert seen.error.retry_after_s is not None
        assert 0 < seen.error.retry_after_s <= 7
    for seen in seen_of(account, F.RATE_LIMIT_BARE):
        assert seen.error is not None
        assert seen.error.retry_after_s is None


@pytest.mark.requirement("L47")
def test_errors_say_who_and_what_and_people_are_spared_the_numbers(account: Account) -> None:
    for (fault, wire), seen in account.seen.items():
        if seen.error is None:
            continue
        assert seen.error.provider == f"simulator-{wire}"
        assert not re.search(r"\d", seen.error.sentence)
        assert "any-key" not in seen.error.detail
        answered = ABOUT[fault].place is Place.ANSWER and "unlabelled" not in fault
        ok = fault in OK
        assert (seen.error.status is not None) == (answered and not ok)
        assert seen.error.retryable == (seen.error.kind in PASSING) or seen.error.kind is K.UNKNOWN


@pytest.mark.requirement("L50")
def test_a_hung_provider_is_left_and_asked_again(account: Account) -> None:
    hung = (F.HANG_BEFORE_HEADERS, F.HANG_BEFORE_EVENT, F.HANG_MID, F.HANG_IN_EVENT)
    for seen in seen_of(account, *hung, F.PINGS_FOREVER, F.PINGS_MID):
        assert seen.error is not None
        assert (seen.error.kind, seen.error.retryable) == (K.TIMEOUT, True)
        assert seen.took_s >= 2.9


@pytest.mark.requirement("L42")
def test_a_refusal_is_reported_as_content_filter_and_what_was_said_is_kept(
    account: Account,
) -> None:
    for seen in seen_of(account, F.REFUSAL, F.CONTENT_FILTER):
        assert seen.error is not None
        assert (seen.error.kind, seen.error.retryable) == (K.CONTENT_FILTER, False)
        assert content(seen.partial)


def test_a_bill_that_was_not_told_is_unknown_and_not_zero(account: Account) -> None:
    for seen in seen_of(account, F.MISSING_USAGE):
        assert seen.final is not None
        assert (seen.final.usage, seen.usage) == (None, None)
    for seen in seen_of(account, F.HANG_BEFORE_HEADERS, F.WRONG_CONTENT_TYPE, F.EOF_AT_ONCE):
        assert seen.usage is None
    for seen in seen_of(account, F.HANG_MID):
        assert (seen.usage is not None) == (seen.wire == "gemini")
    for seen in seen_of(account, F.OVERLOADED):
        assert seen.usage is not None
        assert not seen.usage.counts()


def test_the_page_says_what_this_run_saw(account: Account) -> None:
    drifted = generate_provider_faults.drift(account)

    assert not drifted, f"run python scripts/generate_provider_faults.py\n{drifted}"


def test_a_request_that_no_wait_makes_smaller_is_not_retried(account: Account) -> None:
    for seen in seen_of(account, F.REQUEST_TOO_LARGE):
        assert seen.error is not None
        assert (seen.error.kind, seen.error.retryable) == (K.CONTEXT_OVERFLOW, False)


def test_servers_that_give_up_are_asked_again(account: Account) -> None:
    given_up = (F.CAPACITY_EXCEEDED, F.ERROR_IN_JSON, F.TOOL_USE_FAILED, F.SYSTEM_RESOURCE)
    for seen in seen_of(account, *given_up):
        assert seen.error is not None
        assert seen.error.retryable


REJECTED = {
    F.SUMMARY_REJECTED: {
        "anthropic": "thinking.display",
        "responses": "reasoning.summary",
        "chat": "reasoning.summary",
        "gemini": "thinking",
    },
    F.EFFORT_REJECTED: {
        "anthropic": "output_config.effort",
        "responses": "reasoning.effort",
        "chat": "reasoning_effort",
        "gemini": "thinking",
    },
    F.STREAM_OPTIONS_REJECTED: dict.fromkeys(WIRE_NAMES, "stream_options"),
}


@pytest.mark.requirement("L41")
def test_the_words_of_every_api_name_the_rejected_setting(account: Account) -> None:
    assert set(REJECTED) == REPEATED
    for fault, settings in REJECTED.items():
        for wire, setting in settings.items():
            error = account.seen[fault, wire].error
            assert error is not None
            assert error.rejected == setting


@pytest.mark.requirement("L41")
@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_rejected_temperature_is_left_out_and_the_call_goes_through(wire: str) -> None:
    async with simulator_process() as url, open_transport(provider_faults.now) as transport:
        endpoint = endpoint_at(url, wire, x_sim_fault="temperature-rejected", x_sim_times="1")
        call = call_for(wire, [user(PROMPT)], temperature=0.5)
        with pytest.raises(ProviderError) as refused:
            async with ProviderStream(transport, endpoint, call, DEADLINES):
                pass
        assert refused.value.rejected == "temperature"

        again = call_for(wire, [user(PROMPT)], temperature=None)
        async with ProviderStream(transport, endpoint, again, DEADLINES) as stream:
            async for _ in stream:
                pass
    assert stream.final is not None
