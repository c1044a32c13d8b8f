"""Walk two OpenAPI documents side by side and collect what breaks a client."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from scripts.contract.schemas import RULES, Rule, Schema, Side, type_of

Document: TypeAlias = Mapping[str, Any]
METHODS: Final = ("get", "put", "post", "patch", "delete", "head", "options")
Variants: TypeAlias = Sequence[tuple[str, Schema]]


def breaks(old: Document, new: Document, rules: Sequence[Rule] = RULES) -> list[str]:
    """Each break once, with the place where a client meets it first."""
    found = _Comparison(old, new, rules).operations()
    return list(dict.fromkeys(found))


@dataclass
class _Comparison:
    old: Document
    new: Document
    rules: Sequence[Rule]
    seen: set[tuple[int, int, Side]] = field(default_factory=set[tuple[int, int, Side]])

    def operations(self) -> Iterator[str]:
        after = dict(_operations(self.new))
        for name, operation in _operations(self.old):
            if name in after:
                yield from self._operation(name, operation, after[name])
            else:
                yield f"{name}: removed"

    def _operation(self, name: str, old: Schema, new: Schema) -> Iterator[str]:
        if old.get("operationId") != new.get("operationId"):
            yield f"{name}: operationId changed to {new.get('operationId')}"
        yield from self._parameters(name, old, new)
        yield from self._body(name, old.get("requestBody"), new.get("requestBody"))
        for status, response in old.get("responses", {}).items():
            if status in new.get("responses", {}):
                where = f"{name} {status}"
                yield from self._response(where, response, new["responses"][status])
            elif status.startswith("2"):
                yield f"{name}: status {status} removed"

    def _parameters(self, name: str, old: Schema, new: Schema) -> Iterator[str]:
        before, after = _parameters(old), _parameters(new)
        for key, parameter in before.items():
            if key not in after:
                yield f"{name}: parameter {key} removed"
                continue
            if after[key].get("required") and not parameter.get("required"):
                yield f"{name}: parameter {key} is required"
            schemas = (parameter.get("schema", {}), after[key].get("schema", {}))
            yield from self.schema(f"{name} {key}", *schemas, Side.REQUEST)
        for key in after.keys() - before.keys():
            if after[key].get("required"):
                yield f"{name}: parameter {key} is required"

    def _body(self, name: str, old: Schema | None, new: Schema | None) -> Iterator[str]:
        if new is not None and new.get("required") and not (old or {}).get("required"):
            yield f"{name}: a body is required"
        if old is not None:
            content = (old["content"], (new or {}).get("content", {}))
            yield from self._content(f"{name} body", *content, Side.REQUEST)

    def _response(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        for header in old.get("headers", {}):
            if header not in new.get("headers", {}):
                yield f"{where}: header {header} removed"
        content = (old.get("content", {}), new.get("content", {}))
        yield from self._content(where, *content, Side.RESPONSE)

    def _content(self, where: str, old: Schema, new: Schema, side: Side) -> Iterator[str]:
        for media, described in old.items():
            if media not in new:
                yield f"{where}: {media} removed"
            elif "schema" in described and "schema" in new[media]:
                yield from self.schema(where, described["schema"], new[media]["schema"], side)

    def schema(self, where: str, old: Schema, new: Schema, side: Side) -> Iterator[str]:
        """Two schemas of one value. The place of a named schema is its name."""
        if "$ref" in old:
            where = f"{side} {_name(old['$ref'])}"
        nullable, before = self._variants(self.old, old)
        may_be_null, after = self._variants(self.new, new)
        if side is Side.RESPONSE and may_be_null and not nullable:
            yield f"{where}: can be null"
        if side is Side.REQUEST and nullable and not may_be_null:
            yield f"{where}: null is refused"
        if len(before) == len(after) == 1:
            yield from self._plain(where, before[0][1], after[0][1], side)
        elif before and after:
            yield from self._union(where, before, after, side)

    def _union(self, where: str, old: Variants, new: Variants, side: Side) -> Iterator[str]:
        before, after = dict(old), dict(new)
        common = before.keys() & after.keys()
        if side is Side.REQUEST:
            for tag in sorted(before.keys() - common):
                yield f"{where}: variant {tag} removed"
        elif not common:
            yield f"{where}: no variant is left"
        else:
            for tag in sorted(after.keys() - common):
                if len(before) == 1 or type_of(after[tag]) != "object":
                    yield f"{where}: variant {tag} added"
        for tag in sorted(common):
            yield from self._plain(f"{where}<{tag}>", before[tag], after[tag], side)

    def _plain(self, where: str, old: Schema, new: Schema, side: Side) -> Iterator[str]:
        pair = (id(old), id(new), side)
        if pair in self.seen:
            return  # compared before, or a schema that contains itself
        self.seen.add(pair)
        for rule in self.rules:
            yield from (f"{where}: {what}" for what in rule(old, new, side))
        for name, schema in old.get("properties", {}).items():
            if name in new.get("properties", {}):
                yield from self.schema(f"{where}.{name}", schema, new["properties"][name], side)
        for inner, mark in (("items", "[]"), ("additionalProperties", "{}")):
            pair = (old.get(inner), new.get(inner))
            if isinstance(pair[0], dict) and isinstance(pair[1], dict):
                yield from self.schema(f"{where}{mark}", pair[0], pair[1], side)  # pyright: ignore[reportUnknownArgumentType]

    def _variants(self, document: Document, schema: Schema) -> tuple[bool, Variants]:
        """Whether it can be null, and what else it can be: each variant with its tag."""
        schema = _resolved(document, schema)
        listed: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
        if not listed:
            types: Any = schema.get("type")
            if not isinstance(types, list):
                return types == "null", [] if types == "null" else [(_tag(schema), schema)]
            listed = [{**schema, "type": each} for each in cast("list[str]", types)]
        nullable, variants = False, list[tuple[str, Schema]]()
        for each in listed:
            inner_null, inner = self._variants(document, each)
            nullable = nullable or inner_null
            variants += inner
        return nullable, variants


def _operations(document: Document) -> Iterator[tuple[str, Schema]]:
    """By method and path; the names of path parameters are no part of the contract."""
    for path, methods in document.get("paths", {}).items():
        for method in METHODS:
            if method in methods:
                yield f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}", methods[method]


def _parameters(operation: Schema) -> dict[str, Schema]:
    named = [each for each in operation.get("parameters", ()) if each["in"] != "path"]
    placed = [each for each in operation.get("parameters", ()) if each["in"] == "path"]
    return {
        **{f"{each['in']} {each['name'].lower()}": each for each in named},
        **{f"path {number}": each for number, each in enumerate(placed, 1)},
    }


def _resolved(document: Document, schema: Schema) -> Schema:
    while "$ref" in schema:
        schema = document["components"]["schemas"][_name(schema["$ref"])]
    return schema


def _name(ref: str) -> str:
    return ref.rpartition("/")[2]


def _tag(schema: Schema) -> str:
    """What tells a variant from its neighbours: the constants of its fields, or else its type."""
    constants = [
        f"{name}={each['const']}"
        for name, each in schema.get("properties", {}).items()
        if "const" in each
    ]
    return " ".join(constants) or schema.get("title") or type_of(schema) or "any"
