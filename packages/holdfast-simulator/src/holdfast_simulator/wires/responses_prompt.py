"""OpenAI Responses: what a request asks for, read off its body."""

from collections.abc import Iterator
from typing import Final

from holdfast_simulator.asked import Asked, Choice, Offer, Said, Segment, Speaker, WireName
from holdfast_simulator.jsons import JsonObject, dumps, is_obj, obj, objs, txt, whole
from holdfast_simulator.wires.base import Call

SAID_BY_MODEL: Final = frozenset(
    [
        "reasoning",
        "function_call",
        "web_search_call",
        "file_search_call",
        "custom_tool_call",
        "code_interpreter_call",
    ]
)
RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


def asked_of(call: Call) -> Asked:
    body = call.body or {}
    choice = body.get("tool_choice")
    tools = list(objs(body.get("tools")))
    kinds = {"required": Choice.REQUIRED, "none": Choice.NONE}
    return Asked(
        wire=WireName.RESPONSES,
        party=call.party,
        model=txt(body.get("model")),
        streams=body.get("stream") is True,
        prompt=tuple(_prompt(body)),
        offers=tuple(
            Offer(
                name=txt(tool.get("name")),
                description=txt(tool.get("description")),
                schema=_input_schema(tool),
            )
            for tool in tools
            if tool.get("type") in ("function", "custom")
        ),
        choice=Choice.REQUIRED if is_obj(choice) else kinds.get(txt(choice), Choice.AUTO),
        choice_name=txt(obj(choice).get("name")) or None,
        searches=any(txt(tool.get("type")).startswith("web_search") for tool in tools),
        thinks=isinstance(body.get("reasoning"), dict),
        tokens_max=whole(body.get("max_output_tokens")),
        segments=tuple(_segments(body)),
        body=body,
    )


def custom_tools(body: JsonObject) -> set[str]:
    return {txt(t.get("name")) for t in objs(body.get("tools")) if t.get("type") == "custom"}


def _input_schema(tool: JsonObject) -> JsonObject:
    """Of a tool without one: a text, named as the tool, so that the agent fills it by its name."""
    if tool.get("type") == "function":
        return obj(tool.get("parameters"))
    name = txt(tool.get("name"))
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


def _items(body: JsonObject) -> Iterator[JsonObject]:
    given = body.get("input")
    if isinstance(given, str):
        yield {"role": "user", "content": given}
    yield from objs(given)


def _prompt(body: JsonObject) -> Iterator[Said]:
    """Items in a row that the model made are one reply."""
    texts: list[str] = []
    calls: list[str] = []
    replying = False
    for item in _items(body):
        kind = item.get("type", "message")
        if kind in SAID_BY_MODEL or item.get("role") == "assistant":
            replying = True
            texts.append(_text(item.get("content")))
            if kind in ("function_call", "custom_tool_call"):
                calls.append(txt(item.get("call_id")))
            continue
        if replying:
            yield Said(speaker=Speaker.ASSISTANT, text="".join(texts), calls=tuple(calls))
            texts, calls, replying = [], [], False
        if kind in RESULTS:
            yield Said(speaker=Speaker.TOOL, text=_text(item.get("output")))
        elif item.get("role") == "user":
            yield Said(speaker=Speaker.USER, text=_text(item.get("content")))
    if replying:
        yield Said(speaker=Speaker.ASSISTANT, text="".join(texts), calls=tuple(calls))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(txt(part.get("text")) for part in objs(content) if part.get("text"))


def _segments(body: JsonObject) -> Iterator[Segment]:
    for tool in objs(body.get("tools")):
        yield Segment(data=dumps(tool))
    if body.get("instructions"):
        yield Segment(data=txt(body["instructions"]).encode(errors="surrogatepass"))
    for item in _items(body):
        yield Segment(data=dumps(item))
