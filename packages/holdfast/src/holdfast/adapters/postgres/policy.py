"""The policy as SQL: which named block stands for which condition, and how they are put together.

Every statement that takes a `Filter` compares the organisation itself and leaves the rest to these.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.domain.policy import AccessRule, Condition, Filter, TargetKind

BLOCKS: Final[Mapping[tuple[TargetKind, Condition], str]] = {
    (TargetKind.CHAT, Condition.OWNER): "allow_chat_owner",
    (TargetKind.CHAT, Condition.SHARED): "allow_chat_shared",
    (TargetKind.CHAT, Condition.ORG_ADMIN): "allow_chat_org_admin",
    (TargetKind.USER, Condition.SELF): "allow_user_self",
    (TargetKind.USER, Condition.SAME_ORG): "allow_user_same_org",
    (TargetKind.USER, Condition.ORG_ADMIN): "allow_user_org_admin",
    (TargetKind.API_KEY, Condition.OWNER): "allow_api_key_owner",
    (TargetKind.API_KEY, Condition.ORG_ADMIN): "allow_api_key_org_admin",
    (TargetKind.SIGN_IN, Condition.OWNER): "allow_sign_in_owner",
    (TargetKind.SIGN_IN, Condition.ORG_ADMIN): "allow_sign_in_org_admin",
    (TargetKind.AUDIT, Condition.ORG_ADMIN): "allow_audit_org_admin",
    (TargetKind.SETTINGS, Condition.ORG_ADMIN): "allow_settings_org_admin",
}
BRANCHES: Final[Mapping[Condition, str]] = {
    Condition.OWNER: "list_owner",
    Condition.SHARED: "list_shared",
    Condition.ORG_ADMIN: "list_org_admin",
}


@cache
def filtered(kind: TargetKind, rule: AccessRule, begin: str, *end: str) -> Query:
    """A statement of which only those rows are left for which the rule holds."""
    conditions = [BLOCKS[kind, condition] for condition in rule.any_of]
    return load_query(begin, "allow_open", *conditions, "allow_close", *end)


@cache
def listed(conditions: tuple[Condition, ...], *, after: bool, until: bool = False) -> Query:
    """A page of chats: a branch per condition, each with what is wanted."""
    blocks = ["list_begin"]
    for index, condition in enumerate(conditions):
        blocks += ["list_or"] if index else []
        blocks += [BRANCHES[condition], "list_wanted"]
        blocks += ["list_after"] if after else []
        blocks += ["list_until"] if until else []
        blocks += ["list_limit"]
    return load_query(*blocks, "list_entries")


def actor_parameters(may: Filter) -> dict[str, Any]:
    who, _ = may
    return {"actor_id": who.user_id, "actor_is_admin": who.is_admin, "org_id": who.org_id}
