"""What is particular to the Gemini wire."""

import base64
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.known import GEMINI_BLOCKS, GEMINI_FINISHES, Finish
from holdfast.adapters.providers.types import ModelFacts, OneTool, ProviderTool, ThinkingStyle
from holdfast.adapters.providers.wires import WIRES
from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Native, Text, ToolCall
from tests.support.model import (
    NOW,
    assistant,
    body_of,
    call_for,
    decoder_for,
    endpoint_for,
    feed,
    play,
    results,
    stored,
    tool_call,
    tool_result,
    user,
)


def chunk(*parts: dict[str, Any], finish: str | None = None, **top: Any) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return b"data: " + orjson.dumps({"candidates": [candidate], "responseId": "r", **top}) + b"\n\n"


def body(history: Any = None, **changes: Any) -> dict[str, Any]:
    call = call_for("gemini", history or [user("Hi")], **changes)
    return body_of(call, endpoint_for("gemini"))


def test_signed_parts_are_never_merged_with_their_neighbours() -> None:
    data = (
        chunk({"text": "a"}) + chunk({"text": "b", "thoughtSignature": "s"}) + chunk({"text": "c"})
    )
    final = play("gemini", data + chunk({"text": "d"}, finish="STOP"))

    blocks = [part.native.block for part in final.parts if part.native]
    assert blocks == [{"text": "a"}, {"text": "b", "thoughtSignature": "s"}, {"text": "cd"}]
    sent = body([user("Hi"), assistant(*final.parts), user("Well?")])
    assert sent["contents"][1]["parts"] == blocks


def test_only_the_first_foreign_call_of_a_message_carries_the_stand_in() -> None:
    history = [user("Hi"), assistant(tool_call("a"), tool_call("b")), results(tool_result("a"))]

    signed = [("thoughtSignature" in part) for part in body(history)["contents"][1]["parts"]]
    assert signed == [True, False]
    older = ModelFacts(model="gemini-2.5-pro", thinking=ThinkingStyle.BUDGET)
    assert "thoughtSignature" not in str(body(history, model=older))


def test_ids_go_back_where_they_came_and_are_not_invented() -> None:
    with_id: dict[str, Any] = {"functionCall": {"id": "fc1", "name": "clock", "args": {}}}
    without = {"functionCall": {"name": "clock", "args": {"z": 1}}}
    final = play("gemini", chunk(with_id, without, finish="STOP"))
    calls = [part for part in final.parts if isinstance(part, ToolCall)]
    answers = results(*(tool_result(call.call_id) for call in calls))

    sent = body([user("Hi"), assistant(*final.parts), answers])

    responses = [part["functionResponse"] for part in sent["contents"][2]["parts"]]
    assert [response.get("id") for response in responses] == ["fc1", None]
    assert sent["contents"][1]["parts"] == [with_id, without]


def test_repeated_ids_are_replaced_in_the_replayed_block_too() -> None:
    block: dict[str, Any] = {"functionCall": {"id": "fc1", "name": "clock", "args": {}}}
    call = ToolCall(tool_call("fc1").call_id, "clock", {}, native=Native("gemini", block))
    history = [user("Hi")]
    for _ in range(2):
        history += [assistant(call), results(tool_result("fc1"))]

    contents = body(history)["contents"]

    assert contents[3]["parts"][0]["functionCall"]["id"] == "fc1_2"
    assert contents[4]["parts"][0]["functionResponse"]["id"] == "fc1_2"
    assert block["functionCall"]["id"] == "fc1"


@pytest.mark.requirement("L42")
@pytest.mark.parametrize("finish", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII"])
def test_a_blocked_answer_is_a_content_filter(finish: str) -> None:
    with pytest.raises(ProviderError) as caught:
        play("gemini", chunk({"text": "hm", "thought": True}, finish=finish))
    assert caught.value.kind is ErrorKind.CONTENT_FILTER


def test_a_blocked_prompt_is_a_content_filter() -> None:
    data = b'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n'
    with pytest.raises(ProviderError) as caught:
        play("gemini", data)
    assert caught.value.kind is ErrorKind.CONTENT_FILTER


def test_a_stumbling_model_may_be_asked_again() -> None:
    with pytest.raises(ProviderError) as caught:
        play("gemini", chunk(finish="MALFORMED_FUNCTION_CALL"))
    assert (caught.value.kind, caught.value.retryable) == (ErrorKind.UNKNOWN, True)


def test_a_length_limit_cuts() -> None:
    assert play("gemini", chunk({"text": "One"}, finish="MAX_TOKENS")).ending is Ending.LENGTH


def test_an_error_inside_the_stream_raises_with_its_hint() -> None:
    error = {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "quota",
        "details": [{"retryDelay": "3s"}],
    }
    decoder = decoder_for("gemini")
    with pytest.raises(ProviderError) as caught:
        feed(
            decoder, [chunk({"text": "One"}), b"data: " + orjson.dumps({"error": error}) + b"\n\n"]
        )
    assert (caught.value.kind, caught.value.retry_after_s) == (ErrorKind.RATE_LIMIT, 3.0)
    assert decoder.partial(NOW) == (Text("One"),)


def test_settings() -> None:
    search = ProviderTool("gemini", {"googleSearch": {}})
    sent = body(
        effort="medium",
        temperature=0.2,
        output_max=77,
        tool_choice=OneTool("clock"),
        provider_tools=(search,),
    )

    assert sent["generationConfig"] == {
        "maxOutputTokens": 77,
        "temperature": 0.2,
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"},
    }
    assert sent["toolConfig"]["functionCallingConfig"] == {
        "mode": "ANY",
        "allowedFunctionNames": ["clock"],
    }
    assert sent["tools"][-1] == {"googleSearch": {}}
    budget = ModelFacts(
        model="g", thinking=ThinkingStyle.BUDGET, efforts=("low",), budgets={"low": 512}
    )
    thinking = body(model=budget, effort="high")["generationConfig"]["thinkingConfig"]
    assert thinking == {"includeThoughts": True, "thinkingBudget": 512}


@pytest.mark.requirement("L40")
def test_the_address_asks_for_a_stream() -> None:
    request = WIRES["gemini"].request(call_for("gemini", [user("Hi")]), endpoint_for("gemini"))

    assert request.url == (
        "https://g.example/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    )


def test_parts_that_only_the_provider_understands_are_kept_for_it() -> None:
    odd = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    final = play("gemini", chunk(odd) + chunk({"text": "There."}, finish="STOP"))
    sent = body([user("Hi"), assistant(*final.parts), user("Well?")])

    assert sent["contents"][1]["parts"][0] == odd


def test_searches_are_counted() -> None:
    grounding = {"webSearchQueries": ["a", "b"], "groundingChunks": []}
    candidate = {
        "content": {"parts": [{"text": "x"}]},
        "groundingMetadata": grounding,
        "finishReason": "STOP",
    }
    event = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1}}

    usage = play("gemini", b"data: " + orjson.dumps(event) + b"\n\n").usage
    assert usage is not None
    assert usage.searches == 2


def test_a_signed_part_that_comes_twice_is_an_error_not_two_calls() -> None:
    called: dict[str, Any] = {"name": "clock", "args": {}}
    call: dict[str, Any] = {"functionCall": called, "thoughtSignature": "s"}
    with pytest.raises(ProviderError) as caught:
        play("gemini", chunk(call) + chunk(call) + chunk({"text": ""}, finish="STOP"))
    assert (caught.value.kind, caught.value.retryable) == (ErrorKind.UNKNOWN, True)


# What a reply's end means.

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
GIF = base64.b64encode(b"GIF89a").decode()


@pytest.mark.parametrize("reason", GEMINI_FINISHES)
def test_every_finish_reason_ends_as_the_table_says(reason: str) -> None:
    meaning = GEMINI_FINISHES[reason]
    data = chunk({"text": "One"}, finish=reason)
    if meaning in (Finish.COMPLETE, Finish.CUT, Finish.PAUSED):
        cut = meaning is not Finish.COMPLETE  # a pause without a token cannot go on
        assert play("gemini", data).ending is (Ending.LENGTH if cut else Ending.COMPLETE)
        return
    with pytest.raises(ProviderError) as caught:
        play("gemini", data)
    kinds = {
        Finish.FILTERED: (ErrorKind.CONTENT_FILTER, False),
        Finish.BROKEN: (ErrorKind.UNKNOWN, True),
        Finish.UNSET: (ErrorKind.STREAM_CLOSED, True),
    }
    assert (caught.value.kind, caught.value.retryable) == kinds[meaning]


@pytest.mark.parametrize("reason", [*GEMINI_BLOCKS, "A_NEW_ONE"])
def test_a_blocked_prompt_is_filtered_whatever_the_reason(reason: str) -> None:
    feedback = {"promptFeedback": {"blockReason": reason}}
    data = b"data: " + orjson.dumps(feedback) + b"\n\n" + chunk({"text": "One"}, finish="STOP")
    if GEMINI_BLOCKS.get(reason) is Finish.UNSET:
        assert play("gemini", data).ending is Ending.COMPLETE
        return
    with pytest.raises(ProviderError) as caught:
        play("gemini", data)
    assert caught.value.kind is ErrorKind.CONTENT_FILTER


# Replies in several requests.


def paused(token: str, *parts: dict[str, Any]) -> bytes:
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": list(parts)},
        "finishReason": "CONTINUATION",
        "continuationToken": token,
    }
    return b"data: " + orjson.dumps({"candidates": [candidate], "responseId": "r"}) + b"\n\n"


def test_a_continued_reply_repeats_the_request_with_the_token() -> None:
    history = [user("Hi")]
    first = play("gemini", paused("t1", {"text": "One"}), history)
    assert (first.ending, first.parts[0]) == (
        Ending.PAUSED,
        Text("One", Native("gemini", {"text": "One"})),
    )
    history.append(assistant(*stored(first.parts), ending=first.ending))
    assert body(history) == {**body([user("Hi")]), "continuationToken": "t1"}

    second = play("gemini", paused("t2", {"text": "Two"}), history)
    history.append(assistant(*stored(second.parts), ending=second.ending))
    assert body(history) == {**body([user("Hi")]), "continuationToken": "t2"}

    third = play("gemini", chunk({"text": "Three"}, finish="STOP"), history)
    history.append(assistant(*stored(third.parts)))
    sent = body([*history, user("Go on")])
    assert "continuationToken" not in sent
    said = [{"text": "One"}, {"text": "Two"}, {"text": "Three"}]
    assert [content["parts"] for content in sent["contents"]] == [
        [{"text": "Hi"}],
        said,
        [{"text": "Go on"}],
    ]


def test_a_user_who_speaks_to_a_paused_reply_ends_the_pause() -> None:
    first = play("gemini", paused("t1"))
    history = [user("Hi"), assistant(*first.parts, ending=first.ending), user("Stop")]

    sent = body(history)

    assert "continuationToken" not in str(sent)
    assert [content["role"] for content in sent["contents"]] == ["user", "user"]


def test_a_pause_with_the_token_that_was_sent_is_a_cut() -> None:
    first = play("gemini", paused("t1", {"text": "One"}))
    history = [user("Hi"), assistant(*first.parts, ending=first.ending)]

    assert play("gemini", paused("t1", {"text": "Two"}), history).ending is Ending.LENGTH


# Contents.


def test_what_the_user_says_to_results_has_a_content_of_its_own() -> None:
    history = [
        user("Hi"),
        assistant(tool_call("a")),
        results(tool_result("a", "noon")),
        user("And now?"),
    ]

    contents = body(history)["contents"]

    assert [content["role"] for content in contents] == ["user", "model", "user", "user"]
    assert list(contents[2]["parts"][0]) == ["functionResponse"]
    assert contents[3]["parts"] == [{"text": "And now?"}]


def test_images_of_results_go_inside_the_response_where_the_model_takes_them() -> None:
    shown = {
        "content": [
            {"type": "text", "text": "Two"},
            {"type": "image", "data": PNG},
            {"type": "image", "data": GIF},
        ]
    }
    history = [user("Hi"), assistant(tool_call("a")), results(tool_result("a", shown))]
    png = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    gif = {"inlineData": {"mimeType": "image/gif", "data": GIF}}
    words = {"text": "From the result of clock:"}
    older = ModelFacts(model="gemini-2.5-pro", thinking=ThinkingStyle.BUDGET)

    modern = body(history)["contents"]
    legacy = body(history, model=older)["contents"]

    assert modern[2]["parts"][0]["functionResponse"]["parts"] == [png]
    assert modern[3]["parts"] == [words, gif]
    assert "parts" not in legacy[2]["parts"][0]["functionResponse"]
    assert legacy[3]["parts"] == [words, png, gif]
    assert len(modern[2]["parts"]) == len(legacy[2]["parts"]) == 1


# Signatures.


def test_one_stand_in_on_different_parts_is_no_repetition() -> None:
    calls = [
        {"functionCall": {"name": "clock", "args": {"z": zone}}, "thoughtSignature": "stand-in"}
        for zone in (1, 2)
    ]
    final = play("gemini", chunk(*calls, finish="STOP"))

    assert [part.native.block for part in final.parts if part.native] == calls


def test_a_part_that_came_before_with_its_signature_is_refused() -> None:
    call: dict[str, Any] = {
        "functionCall": {"name": "clock", "args": {}},
        "thoughtSignature": "s",
    }
    with pytest.raises(ProviderError) as caught:
        play("gemini", chunk(call, call, finish="STOP"))
    assert caught.value.retryable
