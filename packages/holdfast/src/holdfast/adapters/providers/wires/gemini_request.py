"""The body of a Gemini request: contents, tools and what the model is told about thinking."""

import base64
from typing import TYPE_CHECKING, Final, assert_never, cast

from holdfast.adapters.providers.content import (
    Paper,
    Picture,
    Piece,
    Words,
    asked_pieces,
    output_pieces,
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
    ThinkingStyle,
)
from holdfast.domain.parts import Part, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from holdfast.domain.ids import CallId

UNSIGNED: Final = base64.b64encode(b"skip_thought_signature_validator").decode()
TOKEN: Final = "continuationToken"  # noqa: S105 - the name of a field
IN_RESPONSE: Final = frozenset({"image/png", "image/jpeg", "image/webp"})
"""Images that models with thinking levels (Gemini 3 and later) take inside `functionResponse`."""


def gemini_request(call: Call, endpoint: Endpoint) -> Request:
    names = ToolNames.of(call.tools)
    prompt = prompt_of(call.history, call.system, endpoint.dialect)
    entries, token = resumed(prompt.entries, endpoint.dialect)
    body: Object = {"contents": _Contents(call, endpoint.dialect, names).of(entries)}
    if token is not None:
        body[TOKEN] = token
    if prompt.system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in prompt.system]}
    tools = _tools(call, names)
    if tools:
        body["tools"] = tools
    if call.tools:
        config: Object = {"functionCallingConfig": _tool_choice(call, names)}
        if len(tools) > 1:  # theirs beside functions: then their calls are parts of the reply
            config["includeServerSideToolInvocations"] = True
        body["toolConfig"] = config
    if call.service_tier:
        body["serviceTier"] = call.service_tier
    generation = _generation(call)
    if generation:
        body["generationConfig"] = generation
    url = f"{endpoint.base_url}/models/{call.model.model}:streamGenerateContent?alt=sse"
    return Request(url, endpoint.headers, encode(body, call))


class _Contents:
    """Spells the entries; remembers under which name and id each call went."""

    def __init__(self, call: Call, dialect: str, names: ToolNames) -> None:
        self._call = call
        self._dialect = dialect
        self._names = names
        self._called: dict[CallId, tuple[str, str | None]] = {}

    def of(self, entries: list[Entry]) -> list[Object]:
        contents: list[Object] = []
        for entry in entries:
            match entry:
                case ModelEntry(parts=said):
                    spelled = self._said(said)
                    if spelled:
                        contents.append({"role": "model", "parts": spelled})
                case ResultsEntry(results=results):
                    contents += self._answered(results)
                case UserEntry(parts=asked):
                    parts = [_piece(asked_pieces(part, self._call)) for part in asked]
                    contents.append({"role": "user", "parts": parts})
        return contents

    def _said(self, parts: list[Part]) -> list[Object]:
        spelled: list[Object] = []
        signs = self._call.model.thinking is ThinkingStyle.LEVEL
        for part in parts:
            block = cast(Object, part.native.block) if part.native else {}
            if is_ours(part, self._dialect):
                if TOKEN in block:
                    continue  # the pause is over
                if type(part) is ToolCall and part.runs_at == "here":
                    block = self._replayed(part, block)
                    signs = False
                spelled.append(block)
            elif type(part) is Text:
                spelled.append({"text": part.text})
            elif type(part) is ToolCall:
                name = self._names.name(part.tool)
                self._called[part.call_id] = (name, None)
                foreign: Object = {"functionCall": {"name": name, "args": arguments_of(part)}}
                if signs:  # only the first of a message is checked
                    foreign["thoughtSignature"] = UNSIGNED
                    signs = False
                spelled.append(foreign)
        return spelled

    def _replayed(self, part: ToolCall, block: Object) -> Object:
        called: Object = block["functionCall"]
        raw = called.get("id")
        if raw is not None and raw != part.call_id:
            called = {**called, "id": part.call_id}
            block = {**block, "functionCall": called}
        self._called[part.call_id] = (called["name"], called.get("id"))
        return block

    def _answered(self, results: list[ToolResult]) -> list[Object]:
        """The results in one content, and what they cannot hold in one of its own: Vertex refuses
        a content with both, and some models take all of it for words of the model."""
        responses: list[Object] = []
        shown: list[Object] = []
        for result in results:
            response, rest = self._result(result)
            responses.append({"functionResponse": response})
            shown += rest
        contents: list[Object] = [{"role": "user", "parts": responses}]
        return [*contents, {"role": "user", "parts": shown}] if shown else contents

    def _result(self, result: ToolResult) -> tuple[Object, list[Object]]:
        pieces = output_pieces(result.output, self._call)
        name, raw_id = self._called[result.call_id]
        response: Object = {"id": raw_id} if raw_id is not None else {}
        response |= {
            "name": name,
            "response": {"error" if result.failed else "output": output_text(pieces)},
        }
        pictures = [piece for piece in pieces if not isinstance(piece, Words)]
        modern = self._call.model.thinking is ThinkingStyle.LEVEL
        inside = [
            piece
            for piece in pictures
            if modern and isinstance(piece, Picture) and piece.media_type in IN_RESPONSE
        ]
        if inside:
            response["parts"] = [_piece(piece) for piece in inside]
        outside = [_piece(piece) for piece in pictures if piece not in inside]
        if outside:
            outside.insert(0, {"text": f"From the result of {name}:"})
        return response, outside


def resumed(entries: list[Entry], dialect: str) -> tuple[list[Entry], str | None]:
    """After a pause: the entries of the request that was paused, and the token to go on with."""
    last = entries[-1] if entries else None
    if type(last) is not ModelEntry or not last.paused:
        return entries, None
    end = last.parts[-1]
    if end.native is None or not is_ours(end, dialect) or TOKEN not in end.native.block:
        return entries, None
    return entries[:-1], cast(str, end.native.block[TOKEN])


def _piece(piece: Piece) -> Object:
    match piece:
        case Words(text):
            return {"text": text}
        case Picture(media_type, data):
            return {"inlineData": {"mimeType": media_type, "data": data}}
        case Paper(base64=data):
            return {"inlineData": {"mimeType": "application/pdf", "data": data}}
        case _:
            assert_never(piece)


def _tools(call: Call, names: ToolNames) -> list[Object]:
    declared = [
        {
            "name": names.name(tool.name),
            "description": tool.description,
            "parametersJsonSchema": schema_of(tool.schema),
        }
        for tool in call.tools
    ]
    ours: list[Object] = [{"functionDeclarations": declared}] if declared else []
    return [*ours, *(dict(tool.block) for tool in call.provider_tools if tool.wire == "gemini")]


def _tool_choice(call: Call, names: ToolNames) -> Object:
    match call.tool_choice:
        case OneTool(name):
            return {"mode": "ANY", "allowedFunctionNames": [names.name(name)]}
        case "required":
            return {"mode": "ANY"}
        case "auto" | "none":
            return {"mode": call.tool_choice.upper()}


def _generation(call: Call) -> Object:
    generation: Object = {}
    if call.output_max is not None:
        generation["maxOutputTokens"] = call.output_max
    temperature = temperature_of(call)
    if temperature is not None:
        generation["temperature"] = temperature
    thinking = _thinking(call)
    if thinking:
        generation["thinkingConfig"] = thinking
    return generation


def _thinking(call: Call) -> Object:
    effort = effort_of(call)
    if effort is None:
        return {"includeThoughts": True} if call.model.thinks else {}
    if call.model.thinking is ThinkingStyle.LEVEL:
        return {"includeThoughts": True, "thinkingLevel": effort}
    return {"includeThoughts": True, "thinkingBudget": call.model.budgets.get(effort, -1)}
