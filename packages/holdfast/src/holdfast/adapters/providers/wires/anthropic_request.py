"""The body of an Anthropic Messages request: messages, tools, thinking and cache marks."""

from typing import Final, assert_never, cast

from holdfast.adapters.providers import types
from holdfast.adapters.providers.binding import BETA, accepted, dropping, unbound
from holdfast.adapters.providers.content import (
    Paper,
    Picture,
    Piece,
    Words,
    asked_pieces,
    output_pieces,
)
from holdfast.adapters.providers.history import (
    Entry,
    ModelEntry,
    ResultsEntry,
    UserEntry,
    is_ours,
    prompt_of,
)
from holdfast.adapters.providers.names import ToolNames
from holdfast.adapters.providers.shaping import (
    arguments_of,
    effort_of,
    encode,
    schema_of,
    temperature_of,
)
from holdfast.adapters.providers.types import (
    Call,
    Endpoint,
    Object,
    OneTool,
    Request,
    ThinkingReplay,
    ThinkingStyle,
)
from holdfast.domain.parts import Part, Reasoning, Text, ToolCall, ToolResult

VERSION: Final = "2023-06-01"
GOOGLE_CLOUD_VERSION: Final = "2026-10-21"
CONTAINER: Final = "container"
"""The field of a request; also of a part that keeps the id for later requests."""
BREAKPOINTS_MAX: Final = 4
BUDGET_MIN: Final = 1024


def messages_request(call: Call, endpoint: Endpoint) -> Request:
    names = ToolNames.of(call.tools)
    history = unbound(call.history, call.bound_from)
    prompt = prompt_of(history, call.system, endpoint.dialect)
    prompt.entries = accepted(prompt.entries, call.thinking_replay)
    limit = call.output_max or call.model.output_max
    body: Object = {
        "model": call.model.model,
        "max_tokens": limit,
        "messages": _messages(prompt.entries, call, endpoint.dialect, names),
    }
    if prompt.system:
        body["system"] = [{"type": "text", "text": text} for text in prompt.system]
    tools = _tools(call, names)
    if tools:
        body["tools"] = tools
        body["tool_choice"] = _tool_choice(call, names)
    container = _container(call, endpoint.dialect)
    if container is not None:
        body[CONTAINER] = container
    thinking = _thinking(call, limit, prompt.entries, endpoint.dialect)
    betas = call.model.betas
    if call.thinking_replay is ThinkingReplay.DROP_STALE and (
        tolerant := dropping(thinking.get("thinking"))
    ):
        thinking, betas = {**thinking, "thinking": tolerant}, (*betas, BETA)
    body |= thinking
    if call.service_tier:
        body["service_tier"] = call.service_tier
    temperature = temperature_of(call)
    if temperature is not None and "thinking" not in thinking:
        body["temperature"] = temperature
    _mark(body, call)
    headers = {"anthropic-version": VERSION, **endpoint.headers}
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    url = f"{endpoint.base_url}/v1/messages"
    if endpoint.quirks.model_in_url:
        url = f"{endpoint.base_url}/models/{body.pop('model')}:streamRawPredict"
        body["anthropic_version"] = GOOGLE_CLOUD_VERSION
    return Request(url, headers, encode(body, call, stream=True))


def _messages(entries: list[Entry], call: Call, dialect: str, names: ToolNames) -> list[Object]:
    messages: list[Object] = []
    for entry in entries:
        match entry:
            case ModelEntry(parts=parts):
                said = [_said(part, dialect, names) for part in parts if not _is_container(part)]
                if not said:
                    continue
                messages.append({"role": "assistant", "content": said})
                continue
            case ResultsEntry(results=results):
                content = [_result(result, call) for result in results]
            case UserEntry(parts=asked):
                content = [_piece(asked_pieces(part, call)) for part in asked]
        last = messages[-1] if messages else None
        if last is not None and last["role"] == "user":
            last["content"] += content  # results first, then what the user says to them
        else:
            messages.append({"role": "user", "content": content})
    return messages


def _said(part: Part, dialect: str, names: ToolNames) -> Object:
    native = part.native
    if native is not None and native.wire == dialect:
        block = cast(Object, native.block)
        if type(part) is ToolCall and block["id"] != part.call_id:
            return {**block, "id": part.call_id}
        return block
    if type(part) is Text:
        return {"type": "text", "text": part.text}
    assert type(part) is ToolCall, f"a foreign {part.kind} in the prompt"
    return {
        "type": "tool_use",
        "id": part.call_id,
        "name": names.name(part.tool),
        "input": arguments_of(part),
    }


def _result(result: ToolResult, call: Call) -> Object:
    pieces = output_pieces(result.output, call)
    only = pieces[0]
    content: object = (
        only.text
        if len(pieces) == 1 and isinstance(only, Words)
        else [_piece(piece) for piece in pieces]
    )
    block: Object = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    if result.failed:
        block["is_error"] = True
    return block


def _piece(piece: Piece) -> Object:
    match piece:
        case Words(text):
            return {"type": "text", "text": text}
        case Picture(media_type, data):
            source = {"type": "base64", "media_type": media_type, "data": data}
            return {"type": "image", "source": source}
        case Paper(name, data):
            source = {"type": "base64", "media_type": "application/pdf", "data": data}
            return {"type": "document", "source": source, "title": name}
        case _:
            assert_never(piece)


def _tools(call: Call, names: ToolNames) -> list[Object]:
    ours = [
        {
            "name": names.name(tool.name),
            "description": tool.description,
            "input_schema": schema_of(tool.schema),
        }
        for tool in call.tools
    ]
    theirs = [dict(tool.block) for tool in call.provider_tools if tool.wire == "anthropic"]
    return [*ours, *theirs]


def _container(call: Call, dialect: str) -> str | None:
    """Where the provider ran code before: its files and variables are there. Only for a request
    that may run more of it, and until the provider says that it is gone."""
    if not any(tool.wire == "anthropic" for tool in call.provider_tools):
        return None
    for body in reversed(call.history):
        for part in reversed(body.parts):
            if is_ours(part, dialect) and _is_container(part):
                assert part.native is not None
                return cast(str, part.native.block[CONTAINER])
    return None


def _is_container(part: Part) -> bool:
    return part.native is not None and CONTAINER in part.native.block


def _tool_choice(call: Call, names: ToolNames) -> Object:
    match call.tool_choice:
        case OneTool(name):
            return {"type": "tool", "name": names.name(name)}
        case "required":
            return {"type": "any"}
        case "auto" | "none":
            return {"type": call.tool_choice}


def _thinking(call: Call, limit: int, entries: list[Entry], dialect: str) -> Object:
    effort = effort_of(call)
    facts = call.model
    if effort == "none" or (effort is None and not facts.thinks):
        return {}
    forced = bool(call.tools) and call.tool_choice not in ("auto", "none")
    if facts.thinking is ThinkingStyle.ADAPTIVE:
        config: Object = {"output_config": {"effort": effort}} if effort is not None else {}
        if forced:  # the provider refuses thinking with a forced call
            return config
        thinking = {"type": "adaptive"}
        if facts.thinking_display:
            thinking["display"] = facts.thinking_display
        return {"thinking": thinking, **config}
    if effort is None:
        return {}
    budget = min(facts.budgets.get(effort, BUDGET_MIN), limit - BUDGET_MIN)
    if forced or budget < BUDGET_MIN or _starts_without_thinking(entries, dialect):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _starts_without_thinking(entries: list[Entry], dialect: str) -> bool:
    """Whether we are inside tool use that another wire began.

    With a thinking budget the provider wants the open message to begin with its own thinking;
    there is none, so this call goes without.
    """
    if len(entries) < 2 or type(entries[-1]) is not ResultsEntry:
        return False
    said = entries[-2]
    assert type(said) is ModelEntry
    first = said.parts[0]
    return not (type(first) is Reasoning and is_ours(first, dialect))


def _mark(body: Object, call: Call) -> None:
    """Cache breakpoints: tools, system, and the ends of the last two user messages."""
    policy = call.cache
    if policy.prefix:
        for key in ("tools", "system"):
            if body.get(key):
                _mark_last(body[key], policy.prefix)
    if policy.tail:
        users = [message for message in body["messages"] if message["role"] == "user"]
        for message in users[-2:]:
            _mark_last(message["content"], policy.tail)


def _mark_last(blocks: list[Object], ttl: types.Ttl) -> None:
    control: Object = {"type": "ephemeral"}
    if ttl != "5m":
        control["ttl"] = ttl
    blocks[-1] = {**blocks[-1], "cache_control": control}
