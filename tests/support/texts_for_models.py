"""All texts that a model is told about tools: descriptions, and what the code says when it refuses.

The sentences are read from the source: the words of `Refused(…)`, of constants, and of results.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import holdfast_agent
from holdfast.ports.tools import ToolSpec
from holdfast.tools import workspace
from tests.support.bench_tools import TEMPLATES

TOOLS: Final = Path(next(iter(workspace.__path__)))
AGENT: Final = Path(next(iter(holdfast_agent.__path__)))
BYTES_PER_TOKEN: Final = 4


def specs() -> tuple[ToolSpec, ...]:
    from holdfast.tools.workspace.toolbox import offers

    return tuple(each.spec for each in offers(TEMPLATES))


def described(schema: Any) -> Iterator[str]:
    """Every description in a schema."""
    if isinstance(schema, dict):
        for key, value in schema.items():  # pyright: ignore[reportUnknownVariableType]
            if key == "description" and isinstance(value, str):
                yield value
            else:
                yield from described(value)
    elif isinstance(schema, (list, tuple)):
        for each in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from described(each)


def refusals(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each `Refused(code, text)`; what is inserted is shown as `X`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        said: dict[str, str] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and (text := text_of(node.value)) is not None:
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        said[target.id] = text
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Name("Refused"), args=[_, given]):
                    name = given.id if isinstance(given, ast.Name) else ""
                    text = text_of(given) or said.get(name)
                    if text is not None:
                        yield node.lineno, text
                case _:
                    continue


def text_of(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(value) or "X" for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{text_of(left) or 'X'}{text_of(right) or 'X'}"
        case _:
            return None


def constants(path: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each constant of a module that is a sentence."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                text = text_of(value)
                if text is not None and " " in text:
                    yield name, text
            case _:
                continue
