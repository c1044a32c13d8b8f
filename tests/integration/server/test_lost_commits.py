"""A database that lost commits (a failover to an asynchronous standby, a restored backup) counts
the same versions again, for other commits."""

from dataclasses import replace
from typing import Any

import asyncpg

from holdfast.bootstrap import Adapters
from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import Status
from holdfast.domain.commands import SendMessage
from holdfast.domain.messages import Role
from holdfast.domain.parts import Text
from holdfast.ports.models import Ask, Models, ModelStream
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.replica import Replicas, ask, at_rest
from tests.support.world import ACTOR

KEEP = "create table kept_chats as table chats; create table kept_messages as table messages"
SET_BACK = """
    delete from messages; delete from chats;
    insert into chats table kept_chats; insert into messages table kept_messages
"""


class NotedModels:
    """Models that keep what people said in each prompt."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self.asked: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)

    def stream(self, ask: Ask) -> ModelStream:
        self.asked.append(
            [
                part.text
                for body in ask.history
                if body.role is Role.USER
                for part in body.parts
                if isinstance(part, Text)
            ]
        )
        return self._models.stream(ask)


@requirement("L146")
async def test_model_is_asked_with_the_stored_history_after_a_failover_lost_commits(
    cell: Replicas,
) -> None:
    noted: list[NotedModels] = []

    def around(adapters: Adapters) -> Adapters:
        noted.append(NotedModels(adapters.models))
        return replace(adapters, models=noted[-1])

    async with cell.open(around) as a, cell.open() as b:
        chat = await ask(a, user("first"))
        kept = await at_rest(a, chat.chat_id)
        database = await asyncpg.connect(cell.database_url)
        try:
            await database.execute(KEEP)
            request = ChangeRequest((SendMessage(user("pay 100 to ALICE")),), by=ACTOR)
            await a.ledger.transact(chat.chat_id, request)
            lost = await at_rest(a, chat.chat_id)
            await database.execute(SET_BACK)
        finally:
            await database.close()
        assert await at_rest(b, chat.chat_id) == kept

        request = ChangeRequest((SendMessage(user("pay 5 to BOB")),), by=ACTOR)
        await b.ledger.transact(chat.chat_id, request)
        again = await at_rest(b, chat.chat_id)
        assert (again.version, again.history_version) == (lost.version, lost.history_version)

        request = ChangeRequest((SendMessage(user("yes, do it")),), by=ACTOR)
        await a.ledger.transact(chat.chat_id, request)
        assert (await at_rest(a, chat.chat_id)).status is Status.IDLE

    assert noted[0].asked == [
        ["first"],
        ["first", "pay 100 to ALICE"],
        ["first", "pay 5 to BOB", "yes, do it"],
    ]
