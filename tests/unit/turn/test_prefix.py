"""What a prompt begins with: how it is stored, what of it counts as changed, who is told."""

from dataclasses import replace

import pytest

from holdfast.admin.current import NothingSet
from holdfast.domain.chat import LostWorkers, Status
from holdfast.domain.commands import CommitStep, SendMessage
from holdfast.domain.messages import MessageBody, Role, Visibility
from holdfast.domain.parts import Context, Text
from holdfast.domain.provider_tools import ProviderToolSpec
from holdfast.ports.models import Route
from holdfast.ports.prefixes import UNNAMED_FOR
from holdfast.ports.tools import EditTool, FreeForm, ToolSpec
from holdfast.tools.toolbox import Functions
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.lost import add_takeover
from holdfast.turn.prefix import CHANGED, SECTION_GONE, TOOL_GONE, Prefix, SentPrefix, news_of
from holdfast.turn.reading import PREFIX_STORED_FOR, PREFIXES_MAX, TurnReader
from holdfast.turn.step_policy import StepPolicy
from holdfast.turn.steps.compact import system_of
from holdfast.turn.turn import Turn
from tests.support.builders import NOW, a_chat, boundary, reply, system, user
from tests.support.doubles import HandClock
from tests.support.fake_store import FakeStore
from tests.support.scripted import ScriptedModels, calls, says
from tests.support.stage import QUICK, Effects, staged
from tests.unit.turn.test_prompt import prompt

LOOK = ToolSpec(name="look", description="Look.", schema={"type": "object"})
FIND = ToolSpec(name="find", description="Find.")
BEFORE = Prefix.of(("Be kind.", "Be brief."), "Pay taxes.", ("# Workspace\nNone.", "x"), (LOOK,))


def changes(now: Prefix, *history: MessageBody) -> dict[str, str]:
    found = news_of(now, BEFORE, history)
    if found is None:
        return {}
    assert (found.role, found.visibility) == (Role.SYSTEM, Visibility.MODEL)
    assert found.parts[0] == Text(CHANGED)
    return {part.name: part.text for part in found.parts if isinstance(part, Context)}


def test_prefix_is_read_as_it_was_stored() -> None:
    row = BEFORE.row()
    assert Prefix.stored(row.content) == BEFORE
    assert Prefix.stored(row.content).row() == row
    assert BEFORE.system == ("Be kind.", "Be brief.", "Pay taxes.", "# Workspace\nNone.", "x")
    assert BEFORE.specs == (LOOK,)
    assert replace(BEFORE, tools=()).row().digest != row.digest


def test_provider_tools_are_part_of_a_prefix_and_make_another_one() -> None:
    search = ProviderToolSpec(name="web_search", uses_max=5, blocked_domains=("example.com",))
    with_search = Prefix.of((), None, (), (LOOK,), provider_tools=(search,))
    without = Prefix.of((), None, (), (LOOK,))
    assert Prefix.stored(with_search.row().content) == with_search
    assert with_search.provider_specs == (search,)
    assert "provider_tools" not in without.row().content
    assert with_search.has_other_tools_than(without)
    assert without.has_other_tools_than(with_search)
    stored = Prefix.stored(with_search.row().content)
    assert not with_search.has_other_tools_than(stored)


def test_a_tool_that_takes_a_text_keeps_its_grammar() -> None:
    """A worker of another version must send the very same list of tools."""
    form = FreeForm("patch", "start: /x/")
    patch = replace(LOOK, name="apply_patch", free_form=form)
    stored = Prefix.stored(Prefix.of((), None, (), (LOOK, patch)).row().content)
    assert [spec.free_form for spec in stored.specs] == [None, form]
    assert "free_form" not in BEFORE.row().content


@pytest.mark.parametrize(
    ("way", "names"), [("replace", ["edit", "look"]), ("patch", ["patch", "look"])]
)
def test_a_model_gets_the_tool_that_it_was_trained_to_edit_files_with(
    way: EditTool, names: list[str]
) -> None:
    rules = StepPolicy(QUICK, NothingSet())
    specs = (
        replace(LOOK, name="edit", edits_as="replace"),
        replace(LOOK, name="patch", edits_as="patch"),
        LOOK,
    )
    chat = a_chat(Status.RUNNING)
    assert [s.name for s in rules.prefix_of(chat, (), specs, Route(edit_tool=way)).specs] == names
    assert [s.name for s in rules.prefix_of(chat, (), specs).specs] == ["edit", "look"]


async def test_a_chat_that_goes_to_another_model_gets_its_edit_tool_with_the_next_message() -> None:
    effects = Effects()
    edit, patch = effects.tool("edit", edits_as="replace"), effects.tool("patch", edits_as="patch")
    async with staged(says("a"), tools=Functions(edit, patch)) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, SendMessage(user("b")))
        other = stage.with_models(ScriptedModels(calls("patch"), says("c")))
        other.models.routes[None] = Route(edit_tool="patch")
        await other.drive(await other.again(await stage.world.load(chat.chat_id)))
        asked = [*stage.models.asked, *other.models.asked]
        assert [[spec.name for spec in ask.tools] for ask in asked] == [
            ["edit"],
            ["patch"],
            ["patch"],
        ]
        assert len(effects.done) == 1


def test_thinking_from_before_a_prefix_that_came_back_is_not_bound_to_it() -> None:
    said = [replace(reply(), prefix=digest) for digest in ("one", None, "two", "one", None)]
    assert prompt().bound_from(said, "one") == 3
    assert prompt().bound_from(said[:3], "one") == 3
    assert prompt().bound_from(said[:2], "one") == 0


def test_news_name_what_changed_and_nothing_else() -> None:
    now = Prefix.of(("Be kind.", "Be long."), None, ("# Workspace\nOne.", "x"), ())
    assert changes(BEFORE) == {}
    told = changes(now)
    assert told == {
        "Server instructions 2": "Be long.",
        "Organisation instructions": SECTION_GONE,
        "Workspace": "# Workspace\nOne.",
        "Tool look": TOOL_GONE,
    }


def test_what_was_told_is_not_told_again_until_it_changes_back() -> None:
    now = Prefix.of(("Be kind.", "Be brief."), None, ("# Workspace\nNone.", "x"), ())
    first = news_of(now, BEFORE, ())
    assert first is not None
    assert changes(now, first) == {}
    assert set(changes(BEFORE, first)) == {"Organisation instructions", "Tool look"}
    second = news_of(BEFORE, BEFORE, (first,))
    assert second is not None
    assert changes(BEFORE, first, second) == {}


def test_only_an_added_tool_needs_another_prefix() -> None:
    assert replace(BEFORE, tools=Prefix.of((), None, (), (LOOK, FIND)).tools).has_other_tools_than(
        BEFORE
    )
    other = Prefix.of((), None, (), (replace(LOOK, description="Look well."),))
    assert not other.has_other_tools_than(BEFORE)
    assert set(changes(replace(BEFORE, tools=other.tools))) == {"Tool look"}


def test_thinking_is_bound_from_the_first_reply_of_its_prefix() -> None:
    old, new = replace(reply("a"), prefix="1"), replace(reply("b"), prefix="2")
    bodies = [user("x"), old, user("y"), new, reply("c")]
    assert prompt(*bodies).prefix == "2"
    assert prompt(*bodies).bound_from(bodies, "2") == 3
    assert prompt(*bodies).bound_from(bodies[:3], "2") == 3, "it is about to be named"
    assert prompt(*bodies).bound_from(bodies, "1") == len(bodies), "it comes back after another"


def test_replies_of_older_versions_are_sent_as_they_are() -> None:
    bodies = [user("x"), reply("a"), user("y"), replace(reply("b"), prefix="2")]
    assert prompt(*bodies[:3]).prefix is None
    assert prompt(*bodies).bound_from(bodies, "2") == 0


def test_a_boundary_keeps_system_messages_but_no_news() -> None:
    news = news_of(replace(BEFORE, tools=()), BEFORE, ())
    assert news is not None
    assert system_of((system("kept"), user("x"), news, reply("a"))) == (system("kept"),)
    assert prompt(user("x"), replace(reply("a"), prefix="1"), boundary("b")).prefix is None


def test_the_loss_of_a_worker_is_told_with_a_message_that_readers_see() -> None:
    news = news_of(replace(BEFORE, tools=()), BEFORE, ())
    assert news is not None
    chat = a_chat(Status.RUNNING, lost=LostWorkers(workers=1, since=NOW, until=NOW))
    turn = Turn(chat, Interrupts(chat))
    (step,) = add_takeover(turn, (CommitStep((news, reply("a"))),), lease_s=None)
    assert isinstance(step, CommitStep)
    assert [body.takeover is not None for body in step.messages] == [False, True]


def test_words_of_another_attempt_name_no_prefix() -> None:
    chat = a_chat(Status.RUNNING)
    turn = Turn(chat, Interrupts(chat))
    assert turn.with_prefix(reply("a"), turn.episode) == (reply("a"),)
    turn.sends(SentPrefix(BEFORE, BEFORE.row()))
    ours = turn.with_prefix(reply("a"), turn.episode)
    assert ours == (replace(reply("a"), prefix=BEFORE.row().digest),)
    other = turn.episode._replace(attempt=turn.episode.attempt + 1)
    assert turn.with_prefix(reply("a"), other) == (reply("a"),)


async def test_chats_that_are_told_the_same_name_one_prefix_and_nothing_is_read_for_it() -> None:
    async with staged(says("one"), says("two")) as stage:
        first = await stage.turn()
        second = await stage.turn()
        digests = {m.body.prefix for c in (first, second) for m in await stage.history(c)}
    assert len(digests - {None}) == 1
    assert "prompt_prefix" not in stage.store.calls


async def test_process_relies_for_an_hour_on_a_prefix_that_it_stored_and_on_no_other() -> None:
    """The row of a prefix that was only read may be deleted: the chat that named it may be gone."""
    store = FakeStore(HandClock())
    reading = TurnReader(store, store)
    reading.stored_prefix("stored", BEFORE, NOW)
    assert await reading.prefix("stored") == BEFORE

    assert reading.has_stored_prefix("stored", NOW + PREFIX_STORED_FOR * 0.9)
    assert not reading.has_stored_prefix("stored", NOW + PREFIX_STORED_FOR)
    assert not reading.has_stored_prefix("stored", NOW - PREFIX_STORED_FOR), "the clock was set"
    assert not reading.has_stored_prefix("other", NOW)
    assert PREFIX_STORED_FOR < UNNAMED_FOR / 10
    for number in range(PREFIXES_MAX):
        reading.stored_prefix(str(number), BEFORE, NOW)
    assert not reading.has_stored_prefix("stored", NOW), "forgotten with what it stands for"


async def test_prefix_that_was_read_does_not_count_as_stored() -> None:
    store = FakeStore(HandClock())
    store._prefixes["d1"] = BEFORE.row().content  # pyright: ignore[reportPrivateUsage]
    reading = TurnReader(store, store)
    assert await reading.prefix("d1") == BEFORE
    assert not reading.has_stored_prefix("d1", NOW)
