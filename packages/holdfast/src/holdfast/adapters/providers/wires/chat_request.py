"""The body of a Chat Completions request; `Quirks` says where a vendor wants another one.

Messages and tools are spelled first. Cache marks and the rules of a vendor about the order of
messages are applied to the finished list.
"""

from dataclasses import replace
from typing import Any, Final, assert_never, cast

import orjson

from holdfast.adapters.providers.content import (
    Paper,
    Picture,
    Piece,
    Words,
    asked_pieces,
    marked_pieces,
    output_text,
)
from holdfast.adapters.providers.history import (
    Entry,
    ModelEntry,
    ResultsEntry,
    UserEntry,
    is_ours,
    prompt_of,
)
from holdfast.adapters.providers.names import ToolNames, short_id
from holdfast.adapters.providers.shaping import arguments_of, effort_of, schema_of, temperature_of
from holdfast.adapters.providers.types import Call, Endpoint, Object, OneTool, Quirks, Ttl
from holdfast.adapters.providers.wires.chat_details import merged, readable
from holdfast.adapters.providers.wires.chat_schemas import inlined
from holdfast.domain.parts import Part, Reasoning, Text, ToolCall

REASONING_FIELDS: Final = ("reasoning_content", "reasoning")
_ACKNOWLEDGED: Final = "OK"


def chat_body(call: Call, endpoint: Endpoint) -> Object:
    """Everything but `stream` and what the operator adds."""
    quirks = endpoint.quirks
    call = _shown(call, quirks)
    names = ToolNames.of(call.tools)
    prompt = prompt_of(call.history, call.system, endpoint.dialect)
    messages: list[Object] = []
    if prompt.system:
        messages.append({"role": "system", "content": "\n\n".join(prompt.system)})
    messages += _messages(prompt.entries, call, endpoint, names)
    if quirks.reply_before_user:
        messages = _acknowledged(messages)
    body: Object = {"model": call.model.model, "messages": messages}
    if quirks.usage_option:
        body["stream_options"] = {"include_usage": True}
    tools = _tools(call, names, quirks)
    if tools:
        body["tools"] = tools
        body["tool_choice"] = _tool_choice(call, names)
    if quirks.plugins and (plugins := _provider_tools(call)):
        body["plugins"] = plugins
    if call.output_max is not None:
        body[quirks.output_limit] = call.output_max
    body |= _effort(call, quirks)
    body |= _chosen(call)
    if call.cache_key and quirks.cache_key:
        body["prompt_cache_key"] = call.cache_key
    if quirks.cache_marks:
        _mark(body, call)
    return body


def _shown(call: Call, quirks: Quirks) -> Call:
    """The call without what no model of this vendor can be shown."""
    if quirks.images and quirks.documents:
        return call
    facts = call.model
    images = facts.images and quirks.images
    documents = facts.documents and quirks.documents
    return replace(call, model=replace(facts, images=images, documents=documents))


def _chosen(call: Call) -> Object:
    """What the operator has chosen for the model."""
    found = {"service_tier": call.service_tier, "temperature": temperature_of(call)}
    return {name: value for name, value in found.items() if value is not None}


def _effort(call: Call, quirks: Quirks) -> Object:
    effort = effort_of(call)
    if effort is None:
        return {}
    if effort == "none" and quirks.thinking_switch:
        return {"thinking": {"type": "disabled"}}
    field = quirks.effort_field
    return {field: effort if field == "reasoning_effort" else {"effort": effort}}


# Messages.


def _messages(
    entries: list[Entry], call: Call, endpoint: Endpoint, names: ToolNames
) -> list[Object]:
    messages: list[Object] = []
    for entry in entries:
        match entry:
            case ModelEntry(parts=parts):
                messages.append(_said(parts, call.model.model, endpoint, names))
            case ResultsEntry():
                messages += _answered(entry, call, endpoint.quirks)
            case UserEntry(parts=asked):
                pieces = [asked_pieces(part, call) for part in asked]
                messages.append({"role": "user", "content": _content(pieces, endpoint.quirks)})
    return messages


def _said(parts: list[Part], model: str, endpoint: Endpoint, names: ToolNames) -> Object:
    quirks = endpoint.quirks
    message: Object = {"role": "assistant"}
    chunks: list[Object] = []
    calls: list[Object] = []
    for part in parts:
        ours = is_ours(part, endpoint.dialect)
        block = cast(Object, part.native.block) if part.native and ours else None
        if type(part) is Text:
            if block and "refusal" in block:
                message["refusal"] = block["refusal"]
            else:
                chunks.append({"type": "text", "text": part.text})
        elif type(part) is ToolCall:
            calls.append(_called(part, block, names, quirks))
        elif type(part) is Reasoning and block and quirks.replays_reasoning:
            if quirks.thinking_chunks:
                chunks.append(block)
            else:
                _add_reasoning(message, block)
    if details := readable(message.pop("reasoning_details", ()), model):
        message["reasoning_details"] = details
    message["content"] = _joined(chunks)
    if calls:
        message["tool_calls"] = calls
        if quirks.reasoning_stand_in is not None:
            message.setdefault("reasoning_content", quirks.reasoning_stand_in)
    return message


def _add_reasoning(message: Object, block: Object) -> None:
    """One text or one list of details for the whole message, wherever its pieces came."""
    for field, said in block.items():
        if field == "reasoning_details":
            message[field] = merged([*message.get(field, ()), *said])
        else:
            message[field] = message.get(field, "") + said


def _joined(chunks: list[Object]) -> object:
    """One text, or, with thinking among them, the list of chunks."""
    if any(chunk["type"] != "text" for chunk in chunks):
        return chunks
    return "".join(chunk["text"] for chunk in chunks) if chunks else None


def _called(call: ToolCall, block: Object | None, names: ToolNames, quirks: Quirks) -> Object:
    call_id = _id(call.call_id, quirks)
    if block is not None:
        return block if block.get("id") == call_id else {**block, "id": call_id}
    arguments = orjson.dumps(arguments_of(call)).decode()
    function = {"name": names.name(call.tool), "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _id(call_id: str, quirks: Quirks) -> str:
    return short_id(call_id) if quirks.short_call_ids else call_id


def _answered(entry: ResultsEntry, call: Call, quirks: Quirks) -> list[Object]:
    messages: list[Object] = []
    pictures: list[Piece] = []
    for result in entry.results:
        call_id = _id(result.call_id, quirks)
        pieces = marked_pieces(result, call)
        shown = [piece for piece in pieces if not isinstance(piece, Words)]
        if shown:
            pictures += [Words(f"From the result of {call_id}:"), *shown]
        messages.append({"role": "tool", "tool_call_id": call_id, "content": output_text(pieces)})
    if pictures:  # tool messages are text only on this wire
        messages.append({"role": "user", "content": _content(pictures, quirks)})
    return messages


def _acknowledged(messages: list[Object]) -> list[Object]:
    """A short reply between a tool's result and what the user says next."""
    spaced: list[Object] = []
    for message in messages:
        if message["role"] == "user" and spaced and spaced[-1]["role"] == "tool":
            spaced.append({"role": "assistant", "content": _ACKNOWLEDGED})
        spaced.append(message)
    return spaced


def _content(pieces: list[Piece], quirks: Quirks) -> object:
    words = [piece.text for piece in pieces if isinstance(piece, Words)]
    if len(words) == len(pieces) and (len(words) == 1 or not quirks.images):
        return "\n\n".join(words)  # vendors without images take a string only
    return [_piece(piece) for piece in pieces]


def _piece(piece: Piece) -> Object:
    match piece:
        case Words(text):
            return {"type": "text", "text": text}
        case Picture():
            return {"type": "image_url", "image_url": {"url": piece.url}}
        case Paper(name=name):
            return {"type": "file", "file": {"filename": name, "file_data": piece.url}}
        case _:
            assert_never(piece)


# Tools.


def _tools(call: Call, names: ToolNames, quirks: Quirks) -> list[Object]:
    ours: list[Object] = []
    for tool in call.tools:
        schema = schema_of(tool.schema)
        function: Object = {
            "name": names.name(tool.name),
            "description": tool.description,
            "parameters": inlined(schema) if quirks.inline_schemas else schema,
        }
        ours.append({"type": "function", "function": function})
    return ours if quirks.plugins else [*ours, *_provider_tools(call)]


def _provider_tools(call: Call) -> list[Object]:
    return [dict(tool.block) for tool in call.provider_tools if tool.wire == "chat"]


def _tool_choice(call: Call, names: ToolNames) -> object:
    match call.tool_choice:
        case OneTool(name):
            return {"type": "function", "function": {"name": names.name(name)}}
        case "auto" | "required" | "none":
            return call.tool_choice


# Cache marks, as OpenRouter passes them on.


def _mark(body: Object, call: Call) -> None:
    """Claude takes a mark on the tools, the system prompt and the ends of the last two user
    messages. Gemini takes one on the system prompt and one among the messages: not on the last
    message, where the prompt would be billed twice, and not on a result, where it is ignored."""
    vendor = call.model.model.partition("/")[0]
    if vendor not in ("anthropic", "google"):
        return
    claude = vendor == "anthropic"
    messages: list[Object] = body["messages"]
    prefix, tail = call.cache.prefix, call.cache.tail
    if prefix is not None:
        if claude and body.get("tools"):
            body["tools"][-1]["cache_control"] = _control(prefix, claude=claude)
        if messages and messages[0]["role"] == "system":
            _mark_message(messages[0], _control(prefix, claude=claude))
    if tail is None:
        return
    if claude:
        ends = [at for at, one in enumerate(messages) if _ends_asking(messages, at, one)][-2:]
    else:
        ends = [at for at, one in enumerate(messages[:-1]) if one["role"] == "user"][-1:]
    for at in ends:
        _mark_message(messages[at], _control(tail, claude=claude))


def _ends_asking(messages: list[Object], at: int, message: Object) -> bool:
    """Whether what the model is asked, by a user or in results, ends here."""
    follower = messages[at + 1]["role"] if at + 1 < len(messages) else "assistant"
    return message["role"] in ("user", "tool") and follower == "assistant"


def _control(ttl: Ttl, *, claude: bool) -> Object:
    return {"type": "ephemeral", "ttl": ttl} if claude and ttl != "5m" else {"type": "ephemeral"}


def _mark_message(message: Object, control: Object) -> None:
    content: Any = message["content"]
    if isinstance(content, str):
        message["content"] = [{"type": "text", "text": content, "cache_control": control}]
    elif content:
        content[-1] = {**content[-1], "cache_control": control}
