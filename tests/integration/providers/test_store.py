"""A recorded turn goes through PostgreSQL and out again: the next request is the expected one.

The golden bodies are those of `unit/providers/test_golden.py`. There the stored form is made in
memory; here the messages are committed by the ledger and read back as a runner reads them.
"""

from dataclasses import dataclass, field
from itertools import permutations

import pytest

from holdfast.adapters.postgres.pool import Pool
from holdfast.domain.chat import Chat
from holdfast.domain.commands import BeginAttempt, CommitStep, FinishTurn, SendMessage
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Reasoning, ToolResult
from tests.support.model import GOLDEN, WIRE_NAMES, next_request, play, recording, user
from tests.support.world import World, postgres_world

ASKED = user("What is the weather?")
QUESTION = user("And tomorrow?")
PAIRS = tuple(permutations(WIRE_NAMES, 2))


@dataclass
class Turn:
    """A turn under way: what is in the store, and what never left the runner."""

    world: World
    chat: Chat
    in_flight: list[MessageBody] = field(default_factory=lambda: [ASKED])

    @classmethod
    async def begin(cls, world: World) -> "Turn":
        return cls(world, await world.running(ASKED))

    async def history(self) -> list[MessageBody]:
        page = await self.world.history.page(self.chat.chat_id, limit=100)
        assert page.before is None
        return [message.body for message in page.messages]

    async def commit(self, body: MessageBody) -> None:
        commands = (CommitStep((body,)),)
        before = (BeginAttempt(),) if body.role is Role.ASSISTANT else ()
        self.chat = (await self.world.drive(self.chat, *before, *commands)).chat
        self.in_flight.append(body)

    async def reply(self, wire: str, step: int) -> MessageBody:
        """Decode a recorded reply against the stored history, and commit it."""
        final = play(wire, recording(f"{wire}-{step}"), await self.history())
        assert final.usage is not None
        body = MessageBody(
            role=Role.ASSISTANT,
            parts=final.parts,
            ending=final.ending,
            model=f"{wire}-model",
            usage=final.usage.counts(),
            cost_micros=7,
        )
        await self.commit(body)
        return body

    async def run_tools(self, asked: MessageBody) -> None:
        answers = tuple(
            ToolResult(call.call_id, call.tool, f"result of {call.tool}", call.tool == "clock")
            for call in asked.calls
        )
        await self.commit(MessageBody(role=Role.TOOL, parts=answers))

    async def first_step(self, wire: str) -> None:
        await self.run_tools(await self.reply(wire, 1))

    async def ask_on(self) -> None:
        await self.world.drive(self.chat, FinishTurn())
        await self.world.do(self.chat.chat_id, SendMessage(QUESTION))
        self.in_flight.append(QUESTION)


@pytest.mark.requirement("L29", "L30", "L31", "L32", "L33")
@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_wire_gets_its_own_turn_back_from_the_store_byte_for_byte(
    wire: str, pool: Pool
) -> None:
    turn = await Turn.begin(postgres_world(pool))
    await turn.first_step(wire)
    await turn.reply(wire, 2)
    await turn.ask_on()

    history = await turn.history()

    assert next_request(wire, history) == (GOLDEN / f"{wire}.request.json").read_bytes()
    assert [body.parts for body in history] == [body.parts for body in turn.in_flight]
    assert any(isinstance(part, Reasoning) and part.native for part in history[1].parts)
    assert await turn.world.violations([turn.chat.chat_id]) == []


@pytest.mark.requirement("L29")
@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_each_step_asks_the_same_in_flight_and_from_the_store(wire: str, pool: Pool) -> None:
    turn = await Turn.begin(postgres_world(pool))
    sent: list[bytes] = []

    async def compare() -> None:
        stored = next_request(wire, await turn.history())
        assert next_request(wire, turn.in_flight) == stored
        sent.append(stored)

    await compare()
    await turn.first_step(wire)
    await compare()
    await turn.reply(wire, 2)
    await turn.ask_on()
    await compare()

    assert len(set(sent)) == 3


@pytest.mark.requirement("L37")
@pytest.mark.parametrize(("there", "here"), PAIRS)
async def test_another_wire_goes_on_from_the_store_and_the_first_gets_its_own_back(
    there: str, here: str, pool: Pool
) -> None:
    turn = await Turn.begin(postgres_world(pool))
    await turn.first_step(there)

    switched = next_request(here, await turn.history())

    assert switched == (GOLDEN / f"{there}-to-{here}.request.json").read_bytes()
    assert switched == next_request(here, turn.in_flight)
    await turn.reply(here, 2)
    await turn.ask_on()
    back = next_request(there, await turn.history())
    assert back == (GOLDEN / f"{there}-to-{here}-and-back.request.json").read_bytes()
    assert back == next_request(there, turn.in_flight)
