"""Which of a reply's text rests on which source: counted in code points on every wire."""

from typing import Any

import orjson
import pytest

from holdfast.domain.parts import Citation, Source, Text
from holdfast.ports.models import Reply
from tests.support.model import play, recording

URL = "https://weather.example/zurich"


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)


def texts(reply: Reply) -> list[Text]:
    return [part for part in reply.parts if isinstance(part, Text) and part.text]


@pytest.mark.parametrize("wire", ["anthropic", "responses"])
def test_a_recorded_reply_says_what_it_cites(wire: str) -> None:
    reply = play(wire, recording(f"{wire}-1"))
    (text,) = texts(reply)
    assert text.citations == (Citation(0, len("It will rain."), URL),)
    assert any(isinstance(part, Source) and part.url == URL for part in reply.parts)


def test_responses_counts_within_each_content() -> None:
    def content(text: str, start: int, end: int) -> dict[str, Any]:
        cited = {"type": "url_citation", "start_index": start, "end_index": end, "url": URL}
        return {"type": "output_text", "text": text, "annotations": [cited]}

    item = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [content("öne ", 0, 3), content("two", 0, 3), content("!", 0, 9)],
    }
    reply = play(
        "responses",
        sse(
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
        ),
    )
    (text,) = texts(reply)
    assert [text.text[each.start : each.end] for each in text.citations] == ["öne", "two"]


def test_chat_counts_all_text_of_the_reply() -> None:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    cited = {"start_index": 2, "end_index": 6, "url": URL, "title": "Weather"}
    reply = play(
        "chat",
        sse(
            chunk({"content": "ab üc"}),
            chunk({"reasoning_content": "hm"}),
            chunk({"content": "de"}),
            chunk({"annotations": [{"type": "url_citation", "url_citation": cited}]}),
            chunk({"annotations": [{"type": "url_citation", "url_citation": {"url": URL}}]}),
            chunk({}, "stop"),
        ),
    )
    cuts = [[part.text[c.start : c.end] for c in part.citations] for part in texts(reply)]
    assert cuts == [[" üc"], ["d"]]


def test_gemini_counts_bytes() -> None:
    text = "Grüße. Rain."
    first = len("Grüße. ".encode())
    supports = [
        {"segment": {"endIndex": 8}, "groundingChunkIndices": [0, 7]},
        {
            "segment": {"startIndex": first, "endIndex": len(text.encode())},
            "groundingChunkIndices": [0],
        },
    ]
    candidate = {
        "content": {"role": "model", "parts": [{"text": text}]},
        "groundingMetadata": {
            "groundingChunks": [{"web": {"uri": URL, "title": "Weather"}}],
            "groundingSupports": supports,
        },
        "finishReason": "STOP",
    }
    reply = play("gemini", sse({"candidates": [candidate], "responseId": "r"}))
    (part,) = texts(reply)
    assert [part.text[each.start : each.end] for each in part.citations] == ["Grüße.", "Rain."]
    assert {each.source_url for each in part.citations} == {URL}
