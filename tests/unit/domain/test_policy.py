"""Who may do what, by the table alone; that SQL agrees is shown beside the database."""

from uuid import UUID

import pytest

from holdfast.domain.denials import NotAllowed
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.policy import Action, OrgRole, Resource, Scope, TargetKind, allows, rule_for
from tests.support.builders import ORG, OWNER
from tests.support.identity import principal

OTHER = UserId(UUID(int=5))
ELSEWHERE = OrgId(UUID(int=6))
CHAT = Resource(kind=TargetKind.CHAT, org_id=ORG, owner_id=OWNER, shared_with=frozenset({OTHER}))
OWN, READER = principal(ORG, OWNER), principal(ORG, OTHER)
STRANGER = principal(ORG, UserId(UUID(int=8)))
ADMIN = principal(ORG, STRANGER.user_id, OrgRole.ADMIN)


def test_a_chat_is_its_owners_and_to_be_read_by_those_it_is_shared_with() -> None:
    assert [allows(who, Action.READ, CHAT) for who in (OWN, READER, STRANGER, ADMIN)] == [
        *(True, True, False, False)
    ]
    assert [allows(who, Action.DRIVE, CHAT) for who in (OWN, READER, ADMIN)] == [True, False, False]
    branches = [allows(who, Action.READ_BRANCHES, CHAT) for who in (OWN, READER, ADMIN)]
    assert branches == [True, False, False], "what an edit hid stays with its owner"
    assert [allows(who, Action.OVERSEE, CHAT) for who in (OWN, ADMIN)] == [False, True]


def test_people_of_one_organisation_see_each_other_and_nobody_beyond() -> None:
    user = Resource(kind=TargetKind.USER, org_id=ORG, owner_id=OTHER)
    assert allows(STRANGER, Action.READ, user)
    assert not allows(principal(ELSEWHERE, OTHER), Action.READ, user)
    assert allows(READER, Action.CHANGE, user)
    assert not allows(OWN, Action.CHANGE, user)


def test_a_credential_is_good_for_its_scopes_only() -> None:
    reads = principal(ORG, OWNER, scopes=frozenset({Scope.READ}))
    assert allows(reads, Action.READ, CHAT)
    assert not allows(reads, Action.DRIVE, CHAT)
    with pytest.raises(NotAllowed, match="lacks the scope write"):
        rule_for(reads, Action.DRIVE, TargetKind.CHAT)


def test_what_no_rule_allows_nobody_may() -> None:
    assert not allows(ADMIN, Action.DRIVE, Resource(kind=TargetKind.AUDIT, org_id=ORG))
    with pytest.raises(NotAllowed, match="No role may drive a audit"):
        rule_for(ADMIN, Action.DRIVE, TargetKind.AUDIT)
    with pytest.raises(NotAllowed, match="Only an admin"):
        rule_for(OWN, Action.READ, TargetKind.AUDIT)
    assert rule_for(ADMIN, Action.READ, TargetKind.AUDIT)[0] is ADMIN
