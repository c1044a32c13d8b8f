"""What makes a tool: its arguments, each described, its help text, and what running it twice does.

The schema that a model sees is made of the same class that checks what it sends (L104).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from holdfast.domain.parts import JsonObject
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec
from holdfast.tools.workspace.binding import Binding

WRONG_MAX: Final = 5


class Arguments(BaseModel):
    """Frozen; unknown arguments are refused: a flag that is ignored misleads the model that set
    it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NoArguments(Arguments):
    """A tool that is called without any."""


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Offer(Generic[A]):
    """A tool of the workspace."""

    spec: ToolSpec
    arguments: type[A]
    does: Callable[[Binding, Run, A], Awaitable[ToolOutput]]

    async def run(self, binding: Binding, run: Run) -> ToolOutput:
        try:
            arguments = self.arguments.model_validate(dict(run.call.arguments))
        except ValidationError as error:
            return ToolOutput(_wrong(error, self.arguments), failed=True)
        return await self.does(binding, run, arguments)


def offer(
    name: str,
    description: str,
    arguments: type[A],
    does: Callable[[Binding, Run, A], Awaitable[ToolOutput]],
    *,
    effect: Effect,
    reads_only: bool = False,
    deadline_s: float = 120.0,
) -> Offer[A]:
    spec = ToolSpec(
        name=name,
        description=" ".join(description.split()),
        schema=schema_of(arguments),
        effect=effect,
        reads_only=reads_only,
        deadline_s=deadline_s,
    )
    return Offer(spec, arguments, does)


def schema_of(arguments: type[Arguments]) -> JsonObject:
    """JSON Schema without titles and references: some providers understand neither."""
    whole = arguments.model_json_schema()
    known: dict[str, Any] = whole.pop("$defs", {})
    return cast("JsonObject", _plain(whole, known))


def _plain(node: object, known: dict[str, Any]) -> object:
    if isinstance(node, list):
        return [_plain(each, known) for each in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    given = cast("dict[str, Any]", node)
    if "$ref" in given:
        beside = {key: value for key, value in given.items() if key != "$ref"}
        given = {**known[given["$ref"].rpartition("/")[2]], **beside}
    return {
        key: _properties(value, known) if key == "properties" else _plain(value, known)
        for key, value in given.items()
        if key not in {"title", "additionalProperties"}
    }


def _properties(properties: dict[str, Any], known: dict[str, Any]) -> dict[str, object]:
    """Their names are the arguments' own, and one may well be called `title`."""
    return {name: _plain(value, known) for name, value in properties.items()}


def _wrong(error: ValidationError, arguments: type[Arguments]) -> str:
    faults = [
        f"{'.'.join(map(str, fault['loc'])) or 'the arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False)[:WRONG_MAX]
    ]
    names = ", ".join(arguments.model_fields)
    takes = f" This tool takes: {names}." if names else " This tool takes no arguments."
    return f"Not run, because the arguments do not fit. {'; '.join(faults)}.{takes}"
