"""The comparison of two contracts finds each kind of break, and each break is listed."""

import json
import subprocess
from typing import Any

import pytest

from scripts.contract import __main__ as contract
from scripts.contract.compare import breaks
from scripts.contract.counts import guesses
from scripts.contract.schemas import RULES

Json = dict[str, Any]


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


TEXT: Json = {"type": "string", "maxLength": 20}
VARIANTS = [ref("Word"), ref("Picture")]
BODY: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "text": TEXT,
        "mode": {"type": "string", "enum": ["a", "b"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "part": {
            "oneOf": [
                ref("Word"),
                ref("Picture"),
            ]
        },
    },
    "required": ["text"],
}
ANSWER: Json = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "count": {"type": "integer"},
        "state": {"type": "string", "enum": ["on", "off"]},
        "mood": {"type": "string", "x-extensible-enum": ["calm"]},
        "parts": {"type": "array", "items": BODY["properties"]["part"]},
        "inner": {"anyOf": [ref("Answer"), {"type": "null"}]},
    },
    "required": ["id", "count", "state", "mood", "parts", "inner"],
}


PARAMETERS: list[Json] = [
    {"in": "path", "name": "id", "required": True, "schema": TEXT},
    {"in": "query", "name": "limit", "schema": {"type": "integer"}},
]


def tagged(name: str) -> Json:
    return {"type": "object", "properties": {"type": {"const": name}, "size": {"type": "integer"}}}


def document() -> Json:
    made: Json = {
        "paths": {
            "/things/{id}": {
                "post": {
                    "operationId": "make",
                    "parameters": PARAMETERS,
                    "requestBody": {"content": {"application/json": {"schema": ref("Body")}}},
                    "responses": {
                        "200": {
                            "headers": {"ETag": {}},
                            "content": {"application/json": {"schema": ref("Answer")}},
                        },
                        "202": {},
                        "404": {},
                    },
                }
            }
        },
        "components": {
            "schemas": {
                "Body": BODY,
                "Answer": ANSWER,
                "Word": tagged("word"),
                "Picture": tagged("picture"),
                "Sound": tagged("sound"),
            }
        },
    }
    return json.loads(json.dumps(made))


NOTHING = object()
OPERATION = "paths /things/{id} post"
BODY_AT = "components schemas Body"
ANSWER_AT = "components schemas Answer"


def _key(place: object, step: str) -> Any:
    return int(step) if isinstance(place, list) else step


def changed(path: str, value: Any, given: Json | None = None) -> Json:
    """The document with another value at a path; `NOTHING` removes what is there."""
    made: Json = document() if given is None else json.loads(json.dumps(given))
    *way, last = path.split(" ")
    place: Any = made
    for step in way:
        place = place[_key(place, step)]
    key = _key(place, last)
    if value is NOTHING:
        del place[key]
    else:
        place[key] = value
    return made


NULL: Json = {"type": "null"}
SOUND = ref("Sound")
OPERATIONS = {
    "path removed": (changed("paths /things/{id}", NOTHING), "POST /things/{}: removed"),
    "operation removed": (changed(OPERATION, NOTHING), "POST /things/{}: removed"),
    "operation renamed": (changed(f"{OPERATION} operationId", "create"), "operationId changed"),
    "parameter removed": (changed(f"{OPERATION} parameters 1", NOTHING), "query limit removed"),
    "parameter required": (
        changed(f"{OPERATION} parameters 1 required", True), "limit is required"
    ),
    "body required": (changed(f"{OPERATION} requestBody required", True), "a body is required"),
    "body removed": (changed(f"{OPERATION} requestBody", NOTHING), "application/json removed"),
    "status removed": (changed(f"{OPERATION} responses 202", NOTHING), "status 202 removed"),
    "header removed": (changed(f"{OPERATION} responses 200 headers", {}), "header ETag removed"),
    "media removed": (
        changed(f"{OPERATION} responses 200 content", {}), "application/json removed"
    ),
    "null refused": (changed(f"{BODY_AT} properties note", {"type": "string"}), "null is refused"),
    "can be null": (
        changed(f"{ANSWER_AT} properties count", {"anyOf": [{"type": "integer"}, NULL]}),
        "response Answer.count: can be null",
    ),
    "variant of a request removed": (
        changed(f"{BODY_AT} properties part oneOf 0", SOUND),
        "request Body.part: variant type=word removed",
    ),
    "another type beside": (
        changed(f"{ANSWER_AT} properties count", {"anyOf": [{"type": "integer"}, TEXT]}),
        "response Answer.count: variant string added",
    ),
    "no variant left": (
        changed(f"{ANSWER_AT} properties parts items oneOf", [SOUND, {**SOUND}]),
        "no variant is left",
    ),
}  # fmt: skip
SCHEMAS = {
    "changed_type": [
        (changed(f"{ANSWER_AT} properties count", {"type": "string"}), "from integer to string"),
        (changed(f"{ANSWER_AT} properties count", {"type": "number"}), "from integer to number"),
        (changed(f"{BODY_AT} properties text type", "integer"), "from string to integer"),
    ],
    "removed_field": [
        (changed(f"{ANSWER_AT} properties count", NOTHING), "response Answer: field count removed"),
        (changed(f"{BODY_AT} properties mode", NOTHING), "request Body: field mode removed"),
    ],
    "required_field": [
        (changed(f"{BODY_AT} required", ["text", "mode"]), "request Body: field mode is required"),
        (changed(f"{ANSWER_AT} required 0", NOTHING), "response Answer: field id is optional"),
    ],
    "changed_values": [
        (changed(f"{BODY_AT} properties mode enum", ["a"]), "value b removed"),
        (changed(f"{BODY_AT} properties text enum", ["x"]), "only certain values are accepted"),
        (changed(f"{ANSWER_AT} properties state enum", ["on", "off", "up"]), "value up added"),
        (changed(f"{ANSWER_AT} properties state enum", NOTHING), "closed enumeration opened"),
    ],
    "tighter_bound": [
        (changed(f"{BODY_AT} properties text maxLength", 10), "request Body.text: maxLength is 10"),
        (changed(f"{BODY_AT} properties text minLength", 1), "request Body.text: minLength is 1"),
        (changed(f"{BODY_AT} properties text pattern", "^x"), "request Body.text: pattern changed"),
    ],
    "changed_format": [
        (changed(f"{ANSWER_AT} properties id format", NOTHING), "format changed from uuid to any"),
        (changed(f"{BODY_AT} properties text format", "date"), "format changed from any to date"),
    ],
    "stricter_object": [
        (changed("components schemas Word additionalProperties", False), "unknown fields"),
    ],
}
MUTANTS = tuple(SCHEMAS)
HARMLESS = {
    "nothing": document(),
    "a path": changed("paths /other", {"get": {}}),
    "a parameter": changed(f"{OPERATION} parameters", [*PARAMETERS, {"in": "query", "name": "q"}]),
    "the name of a path parameter": {
        **document(), "paths": {"/things/{thing}": document()["paths"]["/things/{id}"]}
    },
    "a field of a request": changed(f"{BODY_AT} properties extra", TEXT),
    "a field of a response": changed(f"{ANSWER_AT} properties extra", TEXT),
    "a value of an open enumeration": changed(
        f"{ANSWER_AT} properties mood x-extensible-enum", ["calm", "glad"]
    ),
    "a value of a request": changed(f"{BODY_AT} properties mode enum", ["a", "b", "c"]),
    "a variant of a response": changed(
        f"{ANSWER_AT} properties parts items oneOf", [*VARIANTS, SOUND]
    ),
    "a looser bound": changed(f"{BODY_AT} properties text maxLength", 30),
    "a response header": changed(f"{OPERATION} responses 200 headers X", {}),
    "a problem": changed(f"{OPERATION} responses 409", {}),
    "a problem removed": changed(f"{OPERATION} responses 404", NOTHING),
}  # fmt: skip


@pytest.mark.parametrize("kind", OPERATIONS)
def test_a_break_of_an_operation_is_found(kind: str) -> None:
    new, told = OPERATIONS[kind]
    found = breaks(document(), new)
    assert any(told in each for each in found), found


@pytest.mark.parametrize("rule", SCHEMAS)
def test_a_break_of_a_schema_is_found(rule: str) -> None:
    for new, told in SCHEMAS[rule]:
        found = breaks(document(), new)
        assert any(told in each for each in found), (told, found)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_without_its_rule_a_break_is_missed(mutant: str) -> None:
    left = [rule for rule in RULES if rule.__name__ != mutant]
    assert len(left) == len(RULES) - 1
    for new, told in SCHEMAS[mutant]:
        assert not any(told in each for each in breaks(document(), new, left)), told


def test_every_rule_has_a_mutant() -> None:
    assert {rule.__name__ for rule in RULES} == set(MUTANTS)


@pytest.mark.parametrize("kind", HARMLESS)
def test_an_addition_is_no_break(kind: str) -> None:
    assert breaks(document(), HARMLESS[kind]) == []


def test_a_break_and_its_line_belong_together() -> None:
    page = "- `response Chat: field x removed`: use y.\n"
    assert contract.unlisted(["response Chat: field x removed"], page) == []
    assert contract.unlisted(["response Chat: field z removed"], page) == [
        "not listed: response Chat: field z removed",
        "listed, but not found: response Chat: field x removed",
    ]


def test_every_break_since_the_last_release_is_listed() -> None:
    """Before the first release there is no released contract, and nothing is a break."""
    found = contract.since_release()
    assert contract.unlisted(found or [], contract.LISTED.read_text(encoding="utf-8")) == []


def test_a_release_keeps_its_contract() -> None:
    tags = subprocess.run(
        ["git", "tag", "--list", "v*"],
        cwd=contract.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    released = tags.stdout.split()
    assert contract.RELEASED.exists() or not released, f"run --release for {released[-1]}"


def test_the_present_contract_can_be_compared() -> None:
    present = json.loads(contract.PRESENT.read_bytes())
    assert breaks(present, present) == []
    without = {**present, "paths": dict(list(present["paths"].items())[1:])}
    assert breaks(present, without)


DESCRIBED: Json = {"description": "In grams.", "type": "integer"}
SAID: Json = {
    "paths": {
        "/things": {
            "post": {
                "operationId": "create_thing",
                "parameters": [{"in": "query", "name": "limit", "description": "Of a page: 50."}],
                "requestBody": {"content": {"application/json": {"schema": {}, "example": {}}}},
                "responses": {
                    "201": {"content": {"application/json": {"schema": {}, "example": {}}}},
                    "204": {},
                    "default": {"content": {"application/problem+json": {"schema": {}}}},
                },
            }
        }
    },
    "components": {"schemas": {"Thing": {"properties": {"weight": DESCRIBED}}}},
}
THING = "components schemas Thing properties"
CREATE = "paths /things post"
BAD_ID = "operation_ids_bad"
BARE = "properties_undescribed"
GUESSED: dict[str, tuple[str, Any, str]] = {
    "the path": (f"{CREATE} operationId", "create_thing_api_v1_things_post", BAD_ID),
    "no verb": (f"{CREATE} operationId", "things_page", BAD_ID),
    "no noun": (f"{CREATE} operationId", "create", BAD_ID),
    "no snake case": (f"{CREATE} operationId", "createThing", BAD_ID),
    "two of one id": ("paths /others", SAID["paths"]["/things"], BAD_ID),
    "no description": (f"{THING} size", {"type": "integer"}, BARE),
    "the name again": (f"{THING} size", {"description": "The size."}, BARE),
    "within a property": (f"{THING} weight items", {"properties": {"unit": {}}}, BARE),
    "within an answer": (
        f"{CREATE} responses 201 content application/json schema properties",
        {"name": {}},
        BARE,
    ),
    "a parameter": (f"{CREATE} parameters 0 description", "", "parameters_undescribed"),
    "no example of a request": (
        f"{CREATE} requestBody content application/json example",
        NOTHING,
        "operations_without_example",
    ),
    "no example of an answer": (
        f"{CREATE} responses 201 content application/json example",
        NOTHING,
        "operations_without_example",
    ),
}


def test_a_document_that_says_all_leaves_nothing_to_guess() -> None:
    assert set(guesses(SAID).counts().values()) == {0}


@pytest.mark.parametrize("kind", GUESSED)
def test_what_is_left_to_guess_is_counted(kind: str) -> None:
    path, value, counted = GUESSED[kind]
    found = guesses(changed(path, value, SAID)).counts()
    assert found.pop(counted) >= 1
    assert set(found.values()) == {0}
