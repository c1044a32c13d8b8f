"""A prompt as the Responses wire sends it: items, tools, and what is asked for beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never, cast

import orjson

from holdfast.adapters.providers.content import (
    Paper,
    Picture,
    Piece,
    Words,
    asked_pieces,
    marked_pieces,
)
from holdfast.adapters.providers.history import (
    Entry,
    ModelEntry,
    ResultsEntry,
    UserEntry,
    prompt_of,
)
from holdfast.adapters.providers.names import ToolNames
from holdfast.adapters.providers.shaping import (
    arguments_of,
    effort_of,
    schema_of,
    temperature_of,
)
from holdfast.adapters.providers.types import (
    Call,
    Endpoint,
    Object,
    OneTool,
    ThinkingStyle,
    Tool,
)
from holdfast.domain.parts import Part, Text, ToolCall, ToolResult

WIRE: Final = "responses"
CUSTOM_CALL: Final = "custom_tool_call"
"""A call of a tool that we offer as `custom`: its input is a text."""
INCLUDES: Final[Mapping[str, str]] = {
    "web_search": "web_search_call.action.sources",
    "code_interpreter": "code_interpreter_call.outputs",
}
"""What the item of a tool has only if the request asks for it, by the type of the tool."""


def request_body(call: Call, endpoint: Endpoint) -> Object:
    """All of it but what a setting adds or takes away."""
    names, texts = ToolNames.of(call.tools), free_forms(call, endpoint)
    prompt = prompt_of(call.history, call.system, endpoint.dialect)
    body: Object = {
        "model": call.model.model,
        "input": _Input(call, endpoint, names, texts).items(prompt.entries),
        "store": call.stored,
    }
    if prompt.system:
        body["instructions"] = "\n\n".join(prompt.system)
    tools = _tools(call, names, texts)
    if tools:
        body["tools"] = tools
        body["tool_choice"] = _tool_choice(call, names, texts)
    if call.output_max is not None:
        body["max_output_tokens"] = call.output_max
    if call.model.thinking is ThinkingStyle.EFFORT:
        body["reasoning"] = _thinking(call)
    include = _include(call)
    if include:
        body["include"] = include
    if call.service_tier:
        body["service_tier"] = call.service_tier
    temperature = temperature_of(call)
    if temperature is not None:
        body["temperature"] = temperature
    if call.cache_key and endpoint.quirks.cache_key:
        body["prompt_cache_key"] = call.cache_key
    return body


def _thinking(call: Call) -> Object:
    """The summary is asked for whether or not an effort is: the model thinks in any case, and a
    person should see that it does."""
    effort = effort_of(call)
    return {"summary": "auto"} if effort is None else {"effort": effort, "summary": "auto"}


@dataclass(frozen=True, slots=True)
class _Input:
    """The prompt as items. `texts`: see `free_forms`. `custom`: the calls so far that are said in
    the form of a custom tool, whose results have another type."""

    call: Call
    endpoint: Endpoint
    names: ToolNames
    texts: Mapping[str, str]
    custom: set[str] = field(default_factory=set[str])

    def items(self, entries: list[Entry]) -> list[Object]:
        items: list[Object] = []
        for entry in entries:
            match entry:
                case ModelEntry(parts=parts):
                    said = self._said(parts)
                    self.custom.update(i["call_id"] for i in said if i.get("type") == CUSTOM_CALL)
                    items += said
                case ResultsEntry(results=results):
                    items += [self._result(result) for result in results]
                case UserEntry(parts=asked):
                    content = [_piece(asked_pieces(part, self.call)) for part in asked]
                    items.append({"type": "message", "role": "user", "content": content})
        return items

    def _said(self, parts: list[Part]) -> list[Object]:
        call = self.call
        able = call.model.thinking is ThinkingStyle.EFFORT and not call.stored
        whole, followed = True, False
        spelled: list[tuple[Part, Object | None]] = []
        for part in reversed(parts):  # backwards: reasoning depends on what follows it
            block = self._own_block(part)
            reasons = block is not None and block.get("type") == "reasoning"
            if reasons and not (able and followed and block and block.get("encrypted_content")):
                whole, block = False, None
            if type(part) is not ToolResult:  # stands in for no item of its own
                followed = block is not None
            spelled.append((part, block))
        items: list[Object] = []
        for part, block in reversed(spelled):
            if block is None:
                if type(part) is Text or type(part) is ToolCall:
                    items.append(self._converted(part))
            elif block:
                items += _replayed(part, block) if whole else _unbound(part, block)
        return items

    def _own_block(self, part: Part) -> Object | None:
        """What the provider said itself, if it takes that back."""
        native = part.native
        if native is None or native.wire != self.endpoint.dialect:
            return None
        block = cast(Object, native.block)
        is_custom = block.get("type") == CUSTOM_CALL
        return None if is_custom and not self.endpoint.quirks.custom_tools else block

    def _converted(self, part: Text | ToolCall) -> Object:
        if type(part) is Text:
            content = [{"type": "output_text", "text": part.text}]
            return {"type": "message", "role": "assistant", "content": content}
        assert type(part) is ToolCall
        arguments = arguments_of(part)
        said: Object = {"call_id": part.call_id, "name": self.names.name(part.tool)}
        text = arguments.get(self.texts.get(part.tool, ""))
        if isinstance(text, str) and len(arguments) == 1:
            return {"type": CUSTOM_CALL, **said, "input": text}
        return {"type": "function_call", **said, "arguments": orjson.dumps(arguments).decode()}

    def _result(self, result: ToolResult) -> Object:
        pieces = marked_pieces(result, self.call)
        only = pieces[0]
        output: object = (
            only.text
            if len(pieces) == 1 and isinstance(only, Words)
            else [_piece(piece) for piece in pieces]
        )
        kind = f"{CUSTOM_CALL if result.call_id in self.custom else 'function_call'}_output"
        return {"type": kind, "call_id": result.call_id, "output": output}


def _replayed(part: Part, block: Object) -> list[Object]:
    if type(part) is ToolCall and part.runs_at == "here" and block["call_id"] != part.call_id:
        return [{**block, "call_id": part.call_id}]
    return [block]


def _unbound(part: Part, block: Object) -> list[Object]:
    """An item that is bound by id to reasoning that is not sent: anonymous, or not at all."""
    if type(part) is Text or (type(part) is ToolCall and part.runs_at == "here"):
        return _replayed(part, {key: value for key, value in block.items() if key != "id"})
    return []


def _piece(piece: Piece) -> Object:
    match piece:
        case Words(text):
            return {"type": "input_text", "text": text}
        case Picture():
            return {"type": "input_image", "image_url": piece.url}
        case Paper(name=name):
            return {"type": "input_file", "filename": name, "file_data": piece.url}
        case _:
            assert_never(piece)


def free_forms(call: Call, endpoint: Endpoint) -> Mapping[str, str]:
    """The offered tools whose input is a text and no JSON, each with the argument that it is."""
    if not endpoint.quirks.custom_tools:
        return {}
    return {t.name: t.free_form.argument for t in call.tools if t.free_form is not None}


def _tools(call: Call, names: ToolNames, texts: Mapping[str, str]) -> list[Object]:
    ours = [_tool(tool, names.name(tool.name), is_text=tool.name in texts) for tool in call.tools]
    return [*ours, *(dict(tool.block) for tool in call.provider_tools if tool.wire == "responses")]


def _tool(tool: Tool, name: str, *, is_text: bool) -> Object:
    named: Object = {"name": name, "description": tool.description}
    if is_text and tool.free_form is not None:
        grammar = {"syntax": "lark", "definition": tool.free_form.grammar}
        return {"type": "custom", **named, "format": {"type": "grammar", **grammar}}
    schema = schema_of(tool.schema)
    return {"type": "function", **named, "parameters": schema, "strict": False}


def _include(call: Call) -> list[str]:
    """What the provider leaves out unless asked."""
    thinks = call.model.thinking is ThinkingStyle.EFFORT and not call.stored
    kinds = [str(tool.block.get("type")) for tool in call.provider_tools if tool.wire == WIRE]
    wanted = [INCLUDES[kind] for kind in kinds if kind in INCLUDES]
    return [*(["reasoning.encrypted_content"] if thinks else []), *wanted]


def _tool_choice(call: Call, names: ToolNames, texts: Mapping[str, str]) -> object:
    match call.tool_choice:
        case OneTool(name):
            kind = "custom" if name in texts else "function"
            return {"type": kind, "name": names.name(name)}
        case "auto" | "required" | "none":
            return call.tool_choice
