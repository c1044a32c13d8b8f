"""Who may do what: one table, from which both the check in Python and the filter in SQL come.

Every rule holds within one organisation only: what belongs to another is as good as unknown (A1).
`db/policy.py` has a named block of SQL for each condition of each kind of resource; a property test
shows that the two agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, TypeAlias, assert_never

from holdfast.domain.denials import NotAllowed
from holdfast.domain.ids import ApiKeyId, OrgId, SignInId, UserId


class OrgRole(StrEnum):
    MEMBER = "member"
    ADMIN = "admin"


class Scope(StrEnum):
    """The most that a credential allows. The account's role may allow less."""

    READ = "read"
    WRITE = "write"
    APPROVE = "approve"
    """To decide about tool calls. Not part of `write`: a program that sends messages must not
    approve the calls that they lead to."""
    ADMIN = "admin"


EVERY_SCOPE: Final = frozenset(Scope)


class TargetKind(StrEnum):
    CHAT = "chat"
    USER = "user"
    API_KEY = "api_key"
    SIGN_IN = "session"
    AUDIT = "audit"
    SETTINGS = "settings"


class Action(StrEnum):
    READ = "read"
    READ_BRANCHES = "read_branches"  # the history that edits and restores have replaced
    DRIVE = "drive"  # whatever makes a model run, or stops it: send, edit, retry, interrupt, answer
    APPROVE = "approve"  # decide whether a tool call runs
    CHANGE = "change"
    SHARE = "share"
    OVERSEE = "oversee"  # see that it is there and what it does, but not what it says
    STOP = "stop"  # end the turn of another user's chat
    CREATE = "create"
    ADMINISTER = "administer"


class Condition(StrEnum):
    OWNER = "owner"
    SHARED = "shared"  # with the one who asks, to be read
    SELF = "self"
    SAME_ORG = "same_org"
    ORG_ADMIN = "org_admin"


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Allowed if any of the conditions holds, with a credential of this scope."""

    any_of: tuple[Condition, ...]
    scope: Scope


POLICY: Final[Mapping[tuple[Action, TargetKind], AccessRule]] = {
    (Action.READ, TargetKind.CHAT): AccessRule((Condition.OWNER, Condition.SHARED), Scope.READ),
    # A reader of a share sees the present history only: an edit takes the replaced text back.
    (Action.READ_BRANCHES, TargetKind.CHAT): AccessRule((Condition.OWNER,), Scope.READ),
    (Action.CREATE, TargetKind.CHAT): AccessRule((Condition.OWNER,), Scope.WRITE),
    # Only the owner: no other user's words run on the owner's budget and tools (L128).
    (Action.DRIVE, TargetKind.CHAT): AccessRule((Condition.OWNER,), Scope.WRITE),
    (Action.APPROVE, TargetKind.CHAT): AccessRule((Condition.OWNER,), Scope.APPROVE),
    (Action.CHANGE, TargetKind.CHAT): AccessRule((Condition.OWNER,), Scope.WRITE),
    (Action.SHARE, TargetKind.CHAT): AccessRule((Condition.OWNER,), Scope.WRITE),
    (Action.OVERSEE, TargetKind.CHAT): AccessRule((Condition.ORG_ADMIN,), Scope.ADMIN),
    (Action.STOP, TargetKind.CHAT): AccessRule((Condition.ORG_ADMIN,), Scope.ADMIN),
    (Action.READ, TargetKind.USER): AccessRule((Condition.SAME_ORG,), Scope.READ),
    (Action.CHANGE, TargetKind.USER): AccessRule((Condition.SELF,), Scope.ADMIN),
    (Action.CREATE, TargetKind.USER): AccessRule((Condition.ORG_ADMIN,), Scope.ADMIN),
    (Action.ADMINISTER, TargetKind.USER): AccessRule((Condition.ORG_ADMIN,), Scope.ADMIN),
    (Action.READ, TargetKind.API_KEY): AccessRule(
        (Condition.OWNER, Condition.ORG_ADMIN), Scope.READ
    ),
    # In a session only: a key that leaks must not be able to make itself a successor.
    (Action.CREATE, TargetKind.API_KEY): AccessRule((Condition.OWNER,), Scope.ADMIN),
    (Action.CHANGE, TargetKind.API_KEY): AccessRule(
        (Condition.OWNER, Condition.ORG_ADMIN), Scope.ADMIN
    ),
    (Action.READ, TargetKind.SIGN_IN): AccessRule(
        (Condition.OWNER, Condition.ORG_ADMIN), Scope.READ
    ),
    (Action.CHANGE, TargetKind.SIGN_IN): AccessRule(
        (Condition.OWNER, Condition.ORG_ADMIN), Scope.ADMIN
    ),
    (Action.READ, TargetKind.AUDIT): AccessRule((Condition.ORG_ADMIN,), Scope.ADMIN),
    (Action.READ, TargetKind.SETTINGS): AccessRule((Condition.ORG_ADMIN,), Scope.ADMIN),
    (Action.CHANGE, TargetKind.SETTINGS): AccessRule((Condition.ORG_ADMIN,), Scope.ADMIN),
}


@dataclass(frozen=True, slots=True)
class Credential:
    kind: Literal["session", "api_key"]
    id: SignInId | ApiKeyId


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A user who has shown a credential."""

    org_id: OrgId
    user_id: UserId
    role: OrgRole
    scopes: frozenset[Scope]
    credential: Credential

    @property
    def is_admin(self) -> bool:
        return self.role is OrgRole.ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a rule looks at. The owner of a user is that user; an audit log has none."""

    kind: TargetKind
    org_id: OrgId
    owner_id: UserId | None = None
    shared_with: frozenset[UserId] = frozenset()


Filter: TypeAlias = tuple[Principal, AccessRule]
"""A rule on behalf of a user, for a store to filter by."""


def allows(who: Principal, action: Action, resource: Resource) -> bool:
    rule = POLICY.get((action, resource.kind))
    if rule is None or rule.scope not in who.scopes or who.org_id != resource.org_id:
        return False
    return any(_holds(condition, who, resource) for condition in rule.any_of)


def rule_for(who: Principal, action: Action, kind: TargetKind) -> Filter:
    """The rule to filter by. `NotAllowed` if it could hold for nothing at all, and that is said
    before anything is looked up: so it tells nothing about what exists."""
    rule = POLICY.get((action, kind))
    if rule is None:
        raise NotAllowed(f"no role may {action} a {kind}")
    if rule.scope not in who.scopes:
        raise NotAllowed(f"the credential lacks the scope {rule.scope}", scope=rule.scope)
    if not who.is_admin and set(rule.any_of) == {Condition.ORG_ADMIN}:
        raise NotAllowed("only an admin of the organisation may")
    return who, rule


def _holds(condition: Condition, who: Principal, resource: Resource) -> bool:
    match condition:
        case Condition.OWNER | Condition.SELF:
            return resource.owner_id == who.user_id
        case Condition.SHARED:
            return who.user_id in resource.shared_with
        case Condition.SAME_ORG:
            return True  # every rule holds within one organisation only
        case Condition.ORG_ADMIN:
            return who.is_admin
        case _:
            assert_never(condition)
