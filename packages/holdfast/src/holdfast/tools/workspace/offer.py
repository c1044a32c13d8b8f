"""What makes a tool: its arguments, each described, its help text, and what running it twice does.

The schema that a model sees is made of the same class that checks what it sends (L104).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from holdfast.domain.parts import JsonObject
from holdfast.ports.tools import (
    EditTool,
    Effect,
    FreeForm,
    Judged,
    PlanRule,
    Run,
    ToolOutput,
    ToolSpec,
    always,
    never,
)
from holdfast.tools.workspace.arguments import example, normalised, unknown_names
from holdfast.tools.workspace.binding import Binding

WRONG_MAX: Final = 5
IGNORED_MAX: Final = 10
FAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing": "is missing",
        "string_type": "must be a string",
        "int_type": "must be an integer",
        "int_parsing": "must be an integer",
        "int_from_float": "must be an integer",
        "float_type": "must be a number",
        "float_parsing": "must be a number",
        "bool_type": "must be true or false",
        "bool_parsing": "must be true or false",
        "tuple_type": "must be an array",
        "list_type": "must be an array",
        "dict_type": "must be an object",
        "model_type": "must be an object",
        "literal_error": "must be one of {expected}",
        "enum": "must be one of {expected}",
        "string_too_short": "must not be empty",
        "string_too_long": "must have at most {max_length} characters",
        "too_short": "must have at least {min_length} entry",
        "too_long": "must have at most {max_length} entries",
        "greater_than": "must be more than {gt}",
        "greater_than_equal": "must be at least {ge}",
        "less_than": "must be less than {lt}",
        "less_than_equal": "must be at most {le}",
        "string_pattern_mismatch": "must match {pattern}",
    }
)
"""Words for the checks of arguments, by the library's name of the check."""


class Arguments(BaseModel):
    """Frozen. Unknown arguments are left out, and the result names them: a flag that is ignored
    without a word misleads the model that set it."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class NoArguments(Arguments):
    """A tool that is called without any."""


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Offer(Generic[A]):
    """A tool of the workspace."""

    spec: ToolSpec
    arguments: type[A]
    does: Callable[[Binding, Run, A], Awaitable[ToolOutput]]
    misuse: Callable[[JsonObject], str | None] | None = None
    """Words about arguments that do not fit, if a known misunderstanding explains them."""

    async def run(self, binding: Binding, run: Run) -> ToolOutput:
        given = self.spec.normalised(run.call.arguments)
        try:
            arguments = self.arguments.model_validate(dict(given))
        except ValidationError as error:
            misuse = self.misuse(given) if self.misuse else None
            return ToolOutput(misuse or refusal(error, self.spec.schema), failed=True)
        output = await self.does(binding, run, arguments)
        return _with_ignored(output, tuple(unknown_names(self.spec.schema, given)))


def offer(
    name: str,
    description: str,
    arguments: type[A],
    does: Callable[[Binding, Run, A], Awaitable[ToolOutput]],
    *,
    effect: Effect,
    reads_only: bool = False,
    deadline_s: float = 120.0,
    misuse: Callable[[JsonObject], str | None] | None = None,
    edits_as: EditTool | None = None,
    normalise: Callable[[JsonObject, JsonObject], JsonObject] = normalised,
    free_form: FreeForm | None = None,
    judged_as: Judged | None = None,
    foreign: bool = True,
    runs: bool = False,
    in_plan_mode: PlanRule | None = None,
    plan_mode_only: bool = False,
) -> Offer[A]:
    """`runs`: it runs something, which may use the network that the workspace has."""
    spec = ToolSpec(
        name=name,
        description=" ".join(description.split()),
        schema=schema_of(arguments),
        effect=effect,
        reads_only=reads_only,
        deadline_s=deadline_s,
        normalise=normalise,
        edits_as=edits_as,
        free_form=free_form,
        judged_as=judged_as,
        foreign=foreign,
        sends_out=always if runs else never,
        in_plan_mode=in_plan_mode,
        plan_mode_only=plan_mode_only,
    )
    return Offer(spec, arguments, does, misuse)


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


def refusal(error: ValidationError, schema: JsonObject) -> str:
    """What is wrong with arguments, in the words of the tool, and what would fit."""
    found = error.errors(include_url=False, include_input=False)
    # An array without its wrong entries is also too short: only the innermost fault counts.
    faults = [
        each
        for each in found
        if not any(
            each is not other and other["loc"][: len(each["loc"])] == each["loc"] for other in found
        )
    ]
    told = [_fault(fault) for fault in faults[:WRONG_MAX]]
    more = f" {len(faults) - WRONG_MAX} more are wrong." if len(faults) > WRONG_MAX else ""
    expected = f"Expected: {example(schema)}" if schema.get("required") else ""
    return f"Not run. {' '.join(told)}{more} {expected}".strip()


def _fault(fault: ErrorDetails) -> str:
    name = "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in fault["loc"]).lstrip(
        "."
    )
    limits = fault.get("ctx", {})
    words = FAULTS.get(fault["type"], "is not valid")
    if fault["type"] == "value_error":
        words = str(limits.get("error", words))
    return f"{name or 'The call'} {words.format_map(limits) if '{' in words else words}."


def _with_ignored(output: ToolOutput, names: tuple[str, ...]) -> ToolOutput:
    if not names or not isinstance(output.value, str):
        return output
    line = f"Ignored: {', '.join(names[:IGNORED_MAX])}"
    if not output.summary_lines:
        return replace(output, value=f"{output.value}\n{line}")
    lines = output.value.split("\n", output.summary_lines)
    lines.insert(output.summary_lines, line)
    return replace(output, value="\n".join(lines), summary_lines=output.summary_lines + 1)
