"""Read the manifest, and find in the text of the tests which of them name which id."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_MANIFEST: Final = Path(__file__).with_name("requirements.toml")
LETTERS: Final[Mapping[str, str]] = {
    "F": "a capability of the whole product",
    "L": "a lesson that systems of this kind paid for; `(seed)`: users asked for it first",
    "S": "invariant: the state of a chat and its owner",
    "M": "invariant: messages and history",
    "R": "invariant: readers and streams",
    "P": "invariant: model providers",
    "X": "invariant: tools and their effects",
    "D": "invariant: durability",
    "A": "invariant: access",
    "LV": "liveness: what must happen within a time",
    "T": "an attack; the invariants that it attacks are in parentheses",
}
"""The letters of an id → what its sentence is about."""


class NotLiteral(Exception):
    """An id that only running code could tell: no search would find it."""

    def __init__(self, where: str, line: int) -> None:
        super().__init__(f"{where}: line {line}: name requirements by literal strings")


def sections() -> Mapping[str, Mapping[str, str]]:
    """Section → id → sentence, in the order of the manifest."""
    found: dict[str, dict[str, str]] = tomllib.loads(_MANIFEST.read_text(encoding="utf-8"))
    return found


@cache
def known_ids() -> frozenset[str]:
    return frozenset(id_ for section in sections().values() for id_ in section)


def proofs(root: Path = ROOT) -> Mapping[str, tuple[str, ...]]:
    """Id → the tests that name it, sorted; ids that the manifest does not know included."""
    named: dict[str, set[str]] = {}
    for path in (root / "tests").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for id_, where in names_in(tree, path.relative_to(root / "tests").as_posix()):
            named.setdefault(id_, set()).add(where)
    return {id_: tuple(sorted(where)) for id_, where in sorted(named.items())}


def names_in(node: ast.AST, where: str) -> Iterator[tuple[str, str]]:
    """Every (id, test) of `@requirement("id")`, on a function, a class, a parameter or a module."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            where = f"{where}::{name}"
        case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("Test"):
            where = f"{where}::{name}"
        case ast.Call(func=ast.Name(id="requirement") | ast.Attribute(attr="requirement")):
            for argument in node.args:
                yield from ((id_, where) for id_ in _literal(argument, where))
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from names_in(child, where)


def _literal(argument: ast.expr, where: str) -> Iterator[str]:
    match argument:
        case ast.Constant(value=str(id_)):
            yield id_
        case ast.Starred(value=ast.Tuple(elts=arguments)):  # how a long list is wrapped
            for each in arguments:
                yield from _literal(each, where)
        case _:
            raise NotLiteral(where, argument.lineno)
