"""Ids as clients see them: one form for each object, and a sentence for everything else."""

from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.policy import TargetKind
from holdfast.domain.public_ids import (
    CHAT_ID,
    ID_TYPES,
    ORG_ID,
    TARGET_ID_TYPES,
    USER_ID,
    IdType,
    WrongId,
)

ID = UUID("01a1debd-0feb-793d-a342-2d7229a3cc99")
HEX = "01a1debd0feb793da3422d7229a3cc99"
CHARS_MAX = 64

every_type = pytest.mark.parametrize("of", ID_TYPES, ids=[each.prefix for each in ID_TYPES])


def reason(of: IdType[Any], text: str) -> str:
    with pytest.raises(WrongId) as wrong:
        of.decode(text)
    return str(wrong.value)


def test_the_prefixes_are_those_of_the_contract() -> None:
    prefixes = [each.prefix for each in ID_TYPES]
    assert prefixes == ["chat_", "user_", "key_", "sess_", "wksp_", "org_", "prov_", "modl_"]


@every_type
def test_an_id_is_its_prefix_and_32_digits(of: IdType[Any]) -> None:
    assert of.encode(ID) == of.prefix + HEX
    assert len(of.encode(ID)) <= CHARS_MAX
    assert of.decode(of.prefix + HEX) == ID


@given(st.sampled_from(ID_TYPES), st.uuids(), st.uuids())
def test_every_uuid_comes_back_and_ids_sort_like_their_uuids(
    of: IdType[Any], one: UUID, other: UUID
) -> None:
    assert of.decode(of.encode(one)) == one
    assert of.decode_or_uuid(of.encode(one)) == of.decode_or_uuid(str(one)) == one
    assert (of.encode(one) < of.encode(other)) == (one < other)


@given(st.text(alphabet="chatuserkysx_0123456789abcdefABCDEF-", max_size=45))
def test_a_text_is_the_one_form_of_an_id_or_refused(text: str) -> None:
    try:
        found = CHAT_ID.decode(text)
    except WrongId:
        found = None
    assert found is None or CHAT_ID.encode(found) == text


@pytest.mark.parametrize(("wanted", "given"), [*permutations(ID_TYPES, 2)])
def test_an_id_of_another_type_is_named(wanted: IdType[Any], given: IdType[Any]) -> None:
    told = reason(wanted, given.encode(ID))
    assert told == f"`{given.prefix}…` names {given.noun}, not {wanted.noun}."


@pytest.mark.parametrize("text", ["", str(ID), HEX, f"CHAT_{HEX}", " " + f"chat_{HEX}"])
def test_what_has_no_prefix_is_told_which_one_it_lacks(text: str) -> None:
    assert reason(CHAT_ID, text) == "The id of a chat begins with `chat_`."


@pytest.mark.parametrize(
    "rest", ["", HEX[:-1], HEX + "0", HEX.upper(), str(ID), HEX[:-1] + "g", HEX[:-1] + "\u0663"]
)
def test_what_is_no_whole_id_is_refused(rest: str) -> None:
    whole = "This is not the whole id of a user: copy it as the API returned it."
    assert reason(USER_ID, f"user_{rest}") == whole
    if rest != str(ID):
        with pytest.raises(WrongId):
            USER_ID.decode_or_uuid(f"user_{rest}")


@pytest.mark.parametrize("text", [str(ID), HEX, f"org_{HEX}"])
def test_an_operator_may_give_either_form(text: str) -> None:
    assert ORG_ID.decode_or_uuid(text) == ID


def test_every_target_of_the_audit_log_has_a_type() -> None:
    of_the_settings = {"provider", "model"}  # rows that the right to change settings covers
    assert {*TARGET_ID_TYPES} == {*TargetKind} - {TargetKind.AUDIT} | of_the_settings
