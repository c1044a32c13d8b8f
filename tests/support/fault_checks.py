"""What must reach the wire under each fault, as checks of one raw HTTP answer."""

import gzip
import zlib
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from itertools import pairwise

import pytest

from holdfast_simulator.asked import WireName
from tests.support.raw_http import Ending, Json, Outcome

A, R, C, G = WireName.ANTHROPIC, WireName.RESPONSES, WireName.CHAT, WireName.GEMINI
Check = Callable[[Outcome, WireName], None]


def terminal(outcome: Outcome, wire: WireName) -> bool:
    """Whether the stream proved its own end, with a reason."""
    data = outcome.data()
    match wire:
        case WireName.ANTHROPIC:
            reasons = [e["delta"].get("stop_reason") for e in data if e["type"] == "message_delta"]
            return bool(reasons and reasons[-1]) and data[-1]["type"] == "message_stop"
        case WireName.RESPONSES:
            ends = ("response.completed", "response.incomplete")
            last = data[-1] if data else {}
            return last.get("type") in ends and last["response"]["status"] != "in_progress"
        case WireName.CHAT:
            return any(c.get("finish_reason") for e in data for c in e.get("choices", []))
        case WireName.GEMINI:
            return any(c.get("finishReason") for e in data for c in e.get("candidates", []))


def calls(outcome: Outcome, wire: WireName) -> list[str]:
    """The arguments of the calls in a stream, put together by their index."""
    found: dict[object, str] = {}
    for event in outcome.data():
        for index, piece in PIECES[wire](event):
            found[index] = found.get(index, "") + piece
    return list(found.values())


Pieces = list[tuple[object, str]]


def anthropic_pieces(event: Json) -> Pieces:
    piece = event.get("delta", {}).get("partial_json")
    return [] if piece is None else [(event["index"], piece)]


def responses_pieces(event: Json) -> Pieces:
    named = event["type"] == "response.function_call_arguments.delta"
    return [(event["output_index"], event["delta"])] if named else []


def chat_pieces(event: Json) -> Pieces:
    pieces = [p for c in event.get("choices", []) for p in c["delta"].get("tool_calls", [])]
    return [(piece["index"], piece["function"]["arguments"]) for piece in pieces]


def gemini_pieces(event: Json) -> Pieces:
    parts = event["candidates"][0]["content"].get("parts", [])
    made = [part["functionCall"] for part in parts if "functionCall" in part]
    # Calls come whole on this wire and have no index: each is one of its own.
    return [(id(call), str(call["args"])) for call in made]


PIECES: dict[WireName, Callable[[Json], Pieces]] = {
    A: anthropic_pieces,
    R: responses_pieces,
    C: chat_pieces,
    G: gemini_pieces,
}


def refused(status: int, words: str = "", **headers: str) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        assert outcome.status == status
        error = outcome.json()["error"]
        assert words in error["message"]
        for name, value in headers.items():
            assert outcome.headers[name.replace("_", "-")] == value
        if wire is A:
            assert outcome.json()["type"] == "error"
            assert outcome.json()["request_id"].startswith("req_")
        if wire is G:
            assert error["code"] == status

    return check


def refused_by(**statuses: int) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        refused(statuses.get(str(wire), statuses["other"]))(outcome, wire)

    return check


def late_date(outcome: Outcome, wire: WireName) -> None:
    refused(429)(outcome, wire)
    assert parsedate_to_datetime(outcome.headers["retry-after"]).tzinfo is not None


def google_delay(outcome: Outcome, wire: WireName) -> None:
    refused(429)(outcome, wire)
    assert outcome.json()["error"]["details"][-1]["retryDelay"] == "7s"
    assert "retry-after" not in outcome.headers


def bare(outcome: Outcome, wire: WireName) -> None:
    refused(429)(outcome, wire)
    assert not any(name.startswith("retry-after") for name in outcome.headers)


def page(status: int) -> Check:
    def check(outcome: Outcome, _wire: WireName) -> None:
        assert outcome.status == status
        assert b"<html>" in outcome.body or outcome.body == b""
        assert "event-stream" not in outcome.headers["content-type"]

    return check


def redirected(outcome: Outcome, _wire: WireName) -> None:
    assert outcome.status == 307
    assert outcome.headers["location"] == "/sim/redirected"


def whole(outcome: Outcome, wire: WireName) -> None:
    assert outcome.status == 200
    assert outcome.ending is Ending.CLEAN
    assert terminal(outcome, wire)


def mislabelled(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert outcome.headers["content-type"].startswith("text/html")


def zipped(*, labelled: bool) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        assert (outcome.headers.get("content-encoding") == "gzip") is labelled
        plain = zlib.decompress(outcome.body, wbits=31)
        whole(Outcome(200, outcome.headers, [plain], outcome.ending), wire)

    return check


def broken_off(ending: Ending, *, events: bool = True) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        assert outcome.ending is ending
        assert not terminal(outcome, wire)
        assert bool(outcome.data()) is events

    return check


def no_answer(ending: Ending) -> Check:
    def check(outcome: Outcome, _wire: WireName) -> None:
        assert (outcome.status, outcome.ending, outcome.body) == (0, ending, b"")

    return check


def mid_event(outcome: Outcome, wire: WireName) -> None:
    broken_off(Ending.CLEAN)(outcome, wire)
    assert not outcome.body.endswith((b"\n\n", b"\r\n\r\n"))


def mid_utf8(outcome: Outcome, wire: WireName) -> None:
    broken_off(Ending.CLEAN, events=bool(outcome.data()))(outcome, wire)
    with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
        outcome.body.decode()


def without_done(outcome: Outcome, wire: WireName) -> None:
    assert outcome.ending is Ending.CLEAN
    assert terminal(outcome, wire) is (wire is C)
    assert b"[DONE]" not in outcome.body
    assert b"message_stop" not in outcome.body


def lingering(outcome: Outcome, wire: WireName) -> None:
    assert outcome.ending is Ending.SILENT
    assert terminal(outcome, wire)


def pinging(*, events: bool) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        assert not terminal(outcome, wire)
        ping = b"event: ping" if wire is A else b": keep-alive"
        assert outcome.body.count(ping) >= 3
        kinds = [event for event in outcome.data() if event.get("type") != "ping"]
        assert bool(kinds) is events

    return check


def dripping(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert all(len(piece) == 1 for piece in outcome.chunks)


def error_event(words: dict[WireName, str], *, first: bool = False) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        assert outcome.status == 200
        assert outcome.ending is Ending.CLEAN
        assert not terminal(outcome, wire)
        assert (len(outcome.data()) == 1) is first
        assert words[wire] in outcome.events()[-1][1]

    return check


def said(**words: str) -> dict[WireName, str]:
    return {A: words["a"], R: words["r"], C: words["c"], G: words["g"]}


def huge(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert max(len(data) for _, data in outcome.events()) > 190_000


def invalid(prefix: str) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        whole(outcome, wire)
        extra = [d for _, d in outcome.events() if d != "[DONE]"]
        assert len(extra) == len(outcome.data()) + 1
        assert any(data.startswith(prefix) for data in extra)

    return check


def doubled(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    events = outcome.events()
    assert any(one == two for one, two in pairwise(events))


def unknown(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert outcome.body.count(b'{"x":1}') == 2


def interleaved(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert len(calls(outcome, wire)) == 2
    if wire is not G:
        order = [index for event in outcome.data() for index, _ in PIECES[wire](event)]
        assert sum(one != two for one, two in pairwise(order)) >= 4


def no_usage(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    for event in outcome.data():
        assert not event.get("usage")
        assert "usageMetadata" not in event
        assert not event.get("message", {}).get("usage")
        assert not event.get("response", {}).get("usage")


def quirky(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert b"retry: 1500" in outcome.body
    assert b"data:{" in outcome.body


def empty_text(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    marks = {
        A: b'"content_block_stop","index":0',
        R: b'"response.output_text.done"',
        C: b'"delta":{"content":""}',
        G: b'"parts":[{"text":""}]',
    }
    assert marks[wire] in outcome.body
    if wire is A:
        assert not any(e.get("index") == 0 and "delta" in e for e in outcome.data())


def says_nothing(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert len(outcome.data()) <= 4


def bad_arguments(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    if wire is G:
        assert b"MALFORMED_FUNCTION_CALL" in outcome.body
        assert calls(outcome, wire) == []
    else:
        assert calls(outcome, wire)[0].endswith(', "then": ,}')


def list_arguments(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert calls(outcome, wire)[0].startswith("[")


def contains(**marks: bytes) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        whole(outcome, wire)
        assert marks.get(str(wire), marks.get("other", b"")) in outcome.body

    return check


def same_ids(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    assert len(calls(outcome, wire)) == 2
    field = {A: "id", R: "call_id", C: "id", G: "id"}[wire]
    found = {piece.split('"')[0] for piece in outcome.body.decode().split(f'"{field}":"call_')[1:]}
    assert len(found) == 1


def length_in_arguments(outcome: Outcome, wire: WireName) -> None:
    contains(
        anthropic=b'"stop_reason":"max_tokens"',
        responses=b'"reason":"max_output_tokens"',
        chat=b'"finish_reason":"length"',
        gemini=b'"finishReason":"MAX_TOKENS"',
    )(outcome, wire)
    made = calls(outcome, wire)
    assert made == [] if wire is G else not made[0].endswith("}")


def without_reason(outcome: Outcome, wire: WireName) -> None:
    assert outcome.ending is Ending.CLEAN
    assert not terminal(outcome, wire)
    last = {A: b"message_stop", R: b"response.completed", C: b"[DONE]", G: b"usageMetadata"}
    assert last[wire] in outcome.body


def half_zipped(outcome: Outcome, wire: WireName) -> None:
    assert outcome.headers["content-encoding"] == "gzip"
    reader = zlib.decompressobj(wbits=31)
    plain = reader.decompress(outcome.body)
    assert not reader.eof
    assert not terminal(Outcome(200, outcome.headers, [plain], outcome.ending), wire)


def zipped_error(outcome: Outcome, wire: WireName) -> None:
    assert outcome.headers["content-encoding"] == "gzip"
    plain = gzip.decompress(outcome.body)
    given = Outcome(outcome.status, outcome.headers, [plain], outcome.ending)
    refused(429, retry_after="7")(given, wire)


def no_content(outcome: Outcome, _wire: WireName) -> None:
    assert (outcome.status, outcome.body) == (204, b"")


def error_in_json(outcome: Outcome, _wire: WireName) -> None:
    assert outcome.status == 200
    assert "verloaded" in outcome.json()["error"]["message"]


def one_piece(outcome: Outcome, _wire: WireName) -> None:
    assert outcome.headers["content-type"] == "application/json"
    assert b"get_weather" in outcome.body
    assert outcome.json()


def hinted(outcome: Outcome, _wire: WireName) -> None:
    """This client of the test takes the first status line for the answer."""
    assert outcome.status == 103


def closed_late(outcome: Outcome, wire: WireName) -> None:
    assert outcome.ending is Ending.CLOSED
    assert terminal(outcome, wire)


def paged(*, ended: bool) -> Check:
    def check(outcome: Outcome, wire: WireName) -> None:
        assert outcome.ending is Ending.CLEAN
        assert outcome.body.endswith(b"</html>\n")
        assert terminal(outcome, wire) is ended

    return check


def marked(outcome: Outcome, wire: WireName) -> None:
    assert outcome.body.startswith(b"\xef\xbb\xbf")
    whole(Outcome(200, outcome.headers, [outcome.body[3:]], outcome.ending), wire)


LAST = {
    A: b"event: message_stop",
    R: b"event: response.completed",
    C: b"[DONE]",
    G: b'"finishReason"',
}


def ended_twice(outcome: Outcome, wire: WireName) -> None:
    assert outcome.ending is Ending.CLEAN
    assert outcome.body.count(LAST[wire]) == 2


def late(outcome: Outcome, wire: WireName) -> None:
    end = {A: "message_delta", R: "response.completed", C: "finish_reason", G: "finishReason"}
    said_at = [i for i, (_, data) in enumerate(outcome.events()) if '"Let' in data]
    closed = {A: '"message_delta"', R: end[R], C: '"finish_reason":"tool_calls"', G: end[G]}
    ended_at = [i for i, (_, data) in enumerate(outcome.events()) if closed[wire] in data]
    assert said_at[0] < ended_at[0] < said_at[-1]


def unopened(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    first = outcome.data()[0]
    kinds = {A: "message_start", R: "response.created"}
    assert first.get("type") != kinds.get(wire, "")
    assert "responseId" not in first
    assert wire is not C or "role" not in first["choices"][0]["delta"]


def hollow(outcome: Outcome, wire: WireName) -> None:
    whole(outcome, wire)
    marks = {
        A: b'{"type":"ping"}',
        R: b'"type":"response.in_progress"',
        C: b'"choices":[]',
        G: b'"candidates":[]',
    }
    assert outcome.body.count(marks[wire]) >= 2


def given_up(outcome: Outcome, wire: WireName) -> None:
    assert outcome.ending is Ending.CLEAN
    marks = {
        A: b'"stop_reason":null',
        R: b'"response.failed"',
        C: b'"finish_reason":"insufficient_system_resource"',
        G: b'"finishReason":"OTHER"',
    }
    assert marks[wire] in outcome.body
