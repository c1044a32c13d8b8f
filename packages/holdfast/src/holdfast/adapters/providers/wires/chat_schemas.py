"""JSON schemas without references, for vendors that do not resolve `$ref`."""

from typing import Any, Final, cast

from holdfast.adapters.providers.types import Object

VALUES_MAX: Final = 20_000
"""Values of one inlined schema: definitions that use each other twice grow without a bound."""
_PLACES: Final = ("$defs", "definitions")
_LOCAL: Final = "#/"


def inlined(schema: Object) -> Object:
    """The schema with every local reference replaced by what it refers to.

    A definition that refers to itself cannot be written out: inside itself it is any value.
    """
    whole = cast(Object, _Inliner(schema).without(schema, frozenset()))
    return {key: value for key, value in whole.items() if key not in _PLACES}


class _Inliner:
    def __init__(self, root: Object) -> None:
        self._root = root
        self._left = VALUES_MAX

    def without(self, value: Any, open_refs: frozenset[str]) -> Any:  # noqa: ANN401 - any JSON
        self._left -= 1
        if isinstance(value, list):
            return [self.without(item, open_refs) for item in cast(list[Any], value)]
        if not isinstance(value, dict):
            return value
        members = cast(Object, value)
        ref = members.get("$ref")
        if not isinstance(ref, str):
            return {key: self.without(item, open_refs) for key, item in members.items()}
        beside = {key: self.without(v, open_refs) for key, v in members.items() if key != "$ref"}
        target = None if ref in open_refs or self._left <= 0 else _found(self._root, ref)
        return beside if target is None else {**self.without(target, open_refs | {ref}), **beside}


def _found(root: Object, ref: str) -> Object | None:
    if not ref.startswith(_LOCAL):
        return None
    at: Any = root
    for name in ref.removeprefix(_LOCAL).split("/"):
        key = name.replace("~1", "/").replace("~0", "~")
        at = cast(Object, at).get(key) if isinstance(at, dict) else None
    return cast(Object, at) if isinstance(at, dict) else None
