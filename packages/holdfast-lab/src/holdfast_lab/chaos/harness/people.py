"""Who sends the messages on a stage, and what they say."""

from typing import Any, Final
from uuid import UUID

from holdfast.adapters.postgres.pool import Pool
from holdfast.chats.changes import Actor
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Text

ORG: Final = OrgId(UUID(int=1))
OWNER: Final = UserId(UUID(int=2))
ACTOR: Final = Actor(ORG, OWNER)


def user(text: str = "hello", **more: Any) -> MessageBody:
    return MessageBody(role=Role.USER, parts=(Text(text),), **more)


async def add_user(pool: Pool, org_id: OrgId, user_id: UserId) -> None:
    await pool.execute(
        "insert into organisations (id, name) values ($1, 'org') on conflict do nothing", org_id
    )
    await pool.execute(
        "insert into users (id, org_id, name) values ($1, $2, 'user') on conflict do nothing",
        user_id,
        org_id,
    )
