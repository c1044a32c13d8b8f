"""Arguments as models write them, and what a tool is called with (`forms.yaml`).

The data names no tool: what an argument is called and its type are enough.
"""

from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.parts import JsonObject
from holdfast.tools.workspace.arguments import ALIASES, normalised
from tests.support.edit_cases import FOLDER, OFFERS

FORMS: Final[list[dict[str, Any]]] = yaml.safe_load((FOLDER / "forms.yaml").read_text())
NAMES: Final = sorted({*ALIASES, *(other for each in ALIASES.values() for other in each)})
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10_000) | st.sampled_from(["", "a", "[1]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)


def declared(form: dict[str, Any]) -> JsonObject:
    properties = {name: {"type": kind} for name, kind in form["declared"].items()}
    return {"type": "object", "properties": properties, "required": list(properties)[:1]}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["name"])
def test_arguments_are_put_into_the_declared_form(form: dict[str, Any]) -> None:
    schema = declared(form)

    assert normalised(schema, form["given"]) == form["becomes"]
    assert normalised(schema, form["becomes"]) == form["becomes"]


@given(st.sampled_from(sorted(OFFERS)), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5))
def test_normalising_twice_is_the_same_as_once(tool: str, arguments: dict[str, Any]) -> None:
    """Otherwise a run would see other arguments than the approval."""
    schema = OFFERS[tool].spec.schema
    once = normalised(schema, arguments)

    assert normalised(schema, once) == once
