"""The statements of identity and of lists, for `benchmarks/plans.py`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from holdfast.adapters.postgres import audit, chat_texts, credentials, listing, oidc, people
from holdfast.adapters.postgres.policy import filtered, listed
from holdfast.adapters.postgres.queries import Query
from holdfast.domain.policy import POLICY, Action, Condition, TargetKind

IDENTITY_TABLES: Final = (
    *("users", "sign_ins", "api_keys", "oidc_identities", "oidc_states", "login_throttles"),
    "known_browsers",
    *("chat_shares", "read_cursors", "list_changes", "audit_log"),
)

GENERATE_IDENTITY: Final = """
insert into organisations (id, name)
select gen_random_uuid(), 'another one' from generate_series(1, 20);
insert into users (id, org_id, name)
select gen_random_uuid(), o.id, 'user ' || u
from organisations as o, generate_series(1, {users}) as u (u) where o.id <> '{org}';
update users set email = 'user-' || id || '@acme.example';
insert into sign_ins (id, user_id, token_hash, method, expires_at)
select gen_random_uuid(), {user_id}, sha256(('token' || u || '.' || s)::bytea), 'password',
    clock_timestamp() + interval '30 days'
from generate_series(0, {users} - 1) as u (u), generate_series(1, 40) as s (s);
insert into api_keys (id, org_id, user_id, name, prefix, secret_hash, scopes)
select gen_random_uuid(), '{org}', {user_id}, 'key', 'hfst_',
    sha256(('key' || u || '.' || s)::bytea), '{{read}}'
from generate_series(0, {users} - 1) as u (u), generate_series(1, 40) as s (s);
insert into api_keys (id, org_id, user_id, name, prefix, secret_hash, scopes)
select gen_random_uuid(), u.org_id, u.id, 'key', 'hf_', sha256(u.id::text::bytea), '{{read}}'
from users as u where u.org_id <> '{org}';
insert into oidc_identities (issuer, subject, org_id, user_id)
select 'https://id.example', u::text, '{org}', {user_id}
from generate_series(0, {users} - 1) as u (u);
insert into oidc_states (state_hash, cookie_hash, return_to, expires_at)
select sha256(u::text::bytea), '\\x00', '/', clock_timestamp() + interval '10 minutes'
from generate_series(1, {users} * 40) as u (u);
insert into login_throttles (key, attempts, since)
select sha256(u::text::bytea), 1, clock_timestamp()
from generate_series(1, {users} * 40) as u (u);
insert into known_browsers (token_hash, user_id, expires_at)
select sha256(('browser' || u || '.' || s)::bytea), {user_id},
    clock_timestamp() + interval '90 days'
from generate_series(0, {users} - 1) as u (u), generate_series(1, 40) as s (s);
insert into chat_shares (chat_id, user_id, org_id, shared_by)
select {chat_id}, {reader_id}, '{org}', {reader_id}
from generate_series(0, {chats} - 1, 7) as n (n);
insert into read_cursors (chat_id, user_id, seq)
select {chat_id}, {reader_id}, 1 from generate_series(0, {chats} - 1, 3) as n (n);
insert into list_changes (user_id, chat_id)
select {reader_id}, {chat_id} from generate_series(0, {chats} - 1, 3) as n (n);
insert into audit_heads (org_id, seq, hash) values ('{org}', {users} * 20, sha256('x'));
insert into audit_log (org_id, seq, at, action, entry, hash)
select '{org}', u, clock_timestamp(), 'sign_in.opened', '{{}}', sha256('x')
from generate_series(1, {users} * 20) as u (u);
"""


def identity_statements(
    org: UUID, user: UUID, chat: UUID
) -> dict[str, tuple[Query, dict[str, Any]]]:
    """Every statement with values such as it meets; changes in each form that the policy gives."""
    hashed = sha256(b"token77.1").digest()
    values: dict[str, Any] = {
        "org_id": org, "user_id": user, "actor_id": user, "actor_is_admin": True, "chat_id": chat,
        "audit_org": org, "audit_at": datetime.now(UTC), "audit_actor": user,
        "audit_action": "session.opened", "audit_entry": "{}", "after_seq": 100, "limit": 50,
        "done": None, "target": None, "until": None, "from_seq": 1, "before_seq": 1000,
        "by": None, "name": "n", "email": "new@acme.example",
        "role": "member", "password_hash": "h", "org_name": "o", "after_name": "user",
        "after_id": user, "words": ["user"], "keep": None, "disabled": False, "revoke_keys": True,
        "keys": [hashed, hashed[::-1]],
        "account_key": hashed, "network_key": hashed[::-1], "token_hash": hashed,
        "browser_key": hashed, "browser_hash": sha256(b"browser77.1").digest(), "first_key": hashed,
        "browser_lifetime": timedelta(days=90),
        "replaces_browser": sha256(b"browser78.1").digest(),
        "time_window": timedelta(minutes=15), "sign_in_id": UUID(int=5), "method": "password",
        "address": None, "agent": None, "lifetime": timedelta(days=30), "verified_hash": None,
        "rehashed": None, "replaces": hashed, "throttle_keys": [hashed], "secret_hash": hashed,
        "idle": timedelta(days=7), "sign_in_ids": [UUID(int=5)] * 100,
        "key_ids": [UUID(int=6)] * 100,
        "key_id": UUID(int=6), "prefix": "hfst_", "scopes": ["read"], "expires_at": None,
        "state_hash": hashed, "cookie_hash": hashed, "link_user_id": None, "return_to": "/",
        "issuer": "https://id.example", "subject": "77", "title": "t", "pinned": None,
        "sets_title": True,
        "pins_max": 50, "pairs_max": 50, "clears_metadata": False, "metadata": '{"k": "v"}',
        "labels": ["l"], "expected": None, "seq": 1, "with_user": user,
        "statuses": None, "client_key": "k", "digest": hashed, "made_id": user,
        "archived": False, "label": None, "title_has": None, "after_at": datetime.now(UTC),
        "until_at": datetime(2026, 1, 1, tzinfo=UTC), "until_id": user, "looks_max": 10,
        "tries_max": 3, "source": "model", "made_of": 1, "version": 1, "stamp": 1,
        "summary": "s", "history_version": 1, "history_stamp": 1,
        "since": 1, "user_ids": [user] * 100, "sinces": [1] * 100,
    }  # fmt: skip
    pins = values | {"pinned": True}
    fresh = values | {
        "token_hash": hashed[::-1],
        "secret_hash": hashed[::-1],
        "state_hash": hashed[::-1],
        "user_id": UUID(int=8),
        "subject": "new",
    }
    found = {name: (query, values) for name, query in _plain()}
    found |= {name: (query, values) for name, query in _allowed()}
    newest = _one(Action.READ, TargetKind.AUDIT, "audit_newest_begin", "audit_newest_end")
    found["audit newest"] = (newest, values | {"since": None})
    found["link oidc"] = (audit.audited("link_oidc_begin"), fresh | {"user_id": user})
    # But for `found_org`, which looks whether there is any user, once in the life of a server.
    found["create user"] = (audit.audited("create_user_begin"), fresh)
    found["create linked"] = (audit.audited("create_linked_begin", "create_linked_end"), fresh)
    found["begin oidc"] = (oidc.BEGIN, fresh)
    owner = values | dict.fromkeys(("token_hash", "secret_hash", "browser_hash"), hashed[::-1])
    found["open sign-in"] = (audit.audited("open_sign_in_begin"), owner)
    found["create key"] = (audit.audited("create_key_begin"), owner)
    update = _one(Action.CHANGE, TargetKind.CHAT, "update_begin", "changed_entry_end")
    found |= {"update": (update, values), "pin": (update, pins)}
    return {f"identity: {name}": pair for name, pair in found.items()}


def _plain() -> Iterator[tuple[str, Query]]:
    yield "audit rows", audit.ROWS
    yield "audit head", audit.HEAD
    yield "audit alone", audit.audited("audit_alone_begin")
    yield "count attempt", credentials.COUNT_ATTEMPT
    yield "by token", credentials.BY_TOKEN
    yield "by key", credentials.BY_KEY
    yield "valid credentials", credentials.VALID
    yield "forget expired", credentials.FORGET_EXPIRED
    yield "consume oidc", oidc.CONSUME
    yield "linked user", oidc.LINKED
    yield "watch poll", listing.POLL
    yield "names of users", people.NAMES
    yield "user of account link", people.USER_OF_LINK
    yield "overview of chats", people.CHATS
    yield "overview of workers", people.WORKERS
    yield "texts of a chat", chat_texts.KNOWN
    yield "claim title", chat_texts.CLAIM
    yield "set title", chat_texts.SET_TITLE
    yield "set turn label", chat_texts.SET_LABEL
    yield "set summary", chat_texts.SET_SUMMARY
    for conditions in (
        (Condition.OWNER, Condition.SHARED),
        (Condition.OWNER,),
        (Condition.SHARED,),
        (Condition.ORG_ADMIN,),
    ):
        for after in (False, True):
            name = " + ".join(conditions) + (" after" if after else "")
            yield f"list by {name}", listed(conditions, after=after)
            yield f"search by {name}", listed(conditions, after=after, until=True)
    yield "searched until", listing.SEARCHED_UNTIL
    yield "searched until, after", listing.SEARCHED_UNTIL_AFTER


def _allowed() -> Iterator[tuple[str, Query]]:
    """By the rule that each is asked under."""
    for action, kind, begin, *end in (
        (Action.READ, TargetKind.CHAT, "find_entry_begin", "entry_end"),
        (Action.READ, TargetKind.CHAT, "watch_begin", "watch_end"),
        (Action.READ, TargetKind.CHAT, "mark_read_begin", "mark_read_end"),
        (Action.SHARE, TargetKind.CHAT, "shares_begin", "shares_end"),
        (Action.SHARE, TargetKind.CHAT, "share_begin", "share_end", "audit_append", "audit_select"),
        (
            Action.SHARE,
            TargetKind.CHAT,
            "unshare_begin",
            "unshare_end",
            "audit_append",
            "audit_select",
        ),
        (Action.READ, TargetKind.USER, "find_user_begin"),
        (Action.READ, TargetKind.USER, "page_of_users_begin", "page_of_users_end"),
        (Action.READ, TargetKind.API_KEY, "api_keys_begin", "api_keys_end"),
        (Action.READ, TargetKind.SIGN_IN, "sign_ins_begin", "sign_ins_of_user_end", "sign_ins_end"),
        (Action.READ, TargetKind.USER, "page_of_people_begin", "page_of_people_end"),
    ):
        yield begin.removesuffix("_begin").replace("_", " "), _one(action, kind, begin, *end)
    for action, kind, begin, end in (
        (Action.ADMINISTER, TargetKind.USER, "set_password_begin", "set_password_end"),
        (Action.ADMINISTER, TargetKind.USER, "update_user_begin", "changed_user_end"),
        (Action.CHANGE, TargetKind.SIGN_IN, "revoke_sign_in_begin", "revoke_sign_in_end"),
        (Action.CHANGE, TargetKind.API_KEY, "revoke_key_begin", "revoke_key_end"),
    ):
        query = audit.audited_if(kind, POLICY[action, kind], begin, end)
        yield begin.removesuffix("_begin").replace("_", " "), query


def _one(action: Action, kind: TargetKind, begin: str, *end: str) -> Query:
    return filtered(kind, POLICY[action, kind], begin, *end)
