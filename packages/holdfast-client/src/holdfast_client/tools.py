"""Python functions as tools that a chat may call and this process runs.

    @tool
    def add(a: int, b: int) -> int:
        "Add two numbers."

Name, description and schema come from the function. Arguments are checked against the schema before
the function sees them, and whatever it raises is told to the model as a failed result.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from pydantic import TypeAdapter
from pydantic_core import ArgsKwargs

from holdfast_client.models import Json

P = ParamSpec("P")
R = TypeVar("R")


class Tool(Generic[P, R]):
    """A function with a schema. Calling it calls the function."""

    def __init__(
        self,
        function: Callable[P, R],
        name: str | None = None,
        description: str | None = None,
        *,
        open_world: bool = False,
    ) -> None:
        self._function = function
        self.open_world = open_world
        self.name: str = name or getattr(function, "__name__", "")
        self.description: str = description or inspect.getdoc(function) or ""
        self.is_async: bool = inspect.iscoroutinefunction(function)
        self._call = TypeAdapter[Any](cast("Any", function))
        self.schema: dict[str, Any] = self._call.json_schema()
        if self.schema.get("type") != "object":
            raise TypeError(f"{self.name}: a tool takes named arguments only")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def declaration(self) -> dict[str, Any]:
        """What the chat, and through it the model, is told of it."""
        told = {"name": self.name, "description": self.description, "input_schema": self.schema}
        return {**told, "open_world": True} if self.open_world else told

    def begin(self, arguments: Mapping[str, Any]) -> object:
        """Check the arguments and call the function; of an async one: what to await."""
        return self._call.validate_python(ArgsKwargs((), dict(arguments)))


AnyTool = Tool[..., Any]


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, open_world: bool = False
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    open_world: bool = False,
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """`open_world`: the function may send its arguments on to others. The server then asks for
    approval once the chat has read foreign text."""
    if function is not None:
        return Tool(function, name, description, open_world=open_world)
    return lambda function: Tool(function, name, description, open_world=open_world)


def toolbox(tools: Iterable[AnyTool | Callable[..., Any]]) -> dict[str, AnyTool]:
    """By name; a plain function is as good as a decorated one."""
    made: list[AnyTool] = [
        cast("AnyTool", each) if isinstance(each, Tool) else Tool(each) for each in tools
    ]
    found = {each.name: each for each in made}
    if len(found) != len(made):
        raise ValueError("two tools of one name")
    return found


def plain(value: object) -> Json:
    """What a function returned, as JSON takes it."""
    return TypeAdapter[Any](Any).dump_python(value, mode="json")


def failure(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
