"""The cache of chats at rest."""

from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Facts, Status
from holdfast.domain.commands import Archive, Create
from holdfast.domain.decide import decide
from holdfast.domain.ids import VersionStamp
from holdfast.worker.idle_cache import IdleCache, NotingStore
from tests.support.builders import CHAT, NOW, ORG, OWNER, a_chat, a_tool, open_call
from tests.support.doubles import HandClock, KeptHints, SeededIds
from tests.support.fake_store import FakeStore


def test_only_small_chats_at_rest_are_remembered() -> None:
    idle = IdleCache()
    for chat in (
        a_chat(Status.RUNNING),
        a_chat(Status.INTERRUPTING),
        a_chat(tools=(a_tool(),)),
        a_chat(queue=1),
        a_chat(open_calls=(open_call("a"),)),
    ):
        idle.note(chat)
        assert idle.recall(chat.chat_id) is None
    rests = a_chat()
    idle.note(rests)
    idle.note(a_chat(Status.RUNNING))
    assert idle.recall(rests.chat_id) is None, "it runs: what was remembered is over"


def test_the_chat_with_the_oldest_commit_is_forgotten_first() -> None:
    idle, ids = IdleCache(chats_max=2), SeededIds()
    chats = [a_chat(chat_id=ids.new_chat_id()) for _ in range(3)]
    idle.note(chats[0])
    idle.note(chats[1])
    idle.note(chats[0])
    idle.note(chats[2])
    assert len(idle) == 2
    assert [idle.recall(chat.chat_id) for chat in chats] == [chats[0], None, chats[2]]
    assert len(idle) == 0, "given once"


async def test_only_what_was_committed_is_noted() -> None:
    idle = IdleCache()
    store = NotingStore(FakeStore(HandClock()), idle)
    new = Chat(chat_id=CHAT, org_id=ORG, owner_id=OWNER)
    chat = (await Ledger(store, KeptHints(), HandClock()).create(new, Create())).chat
    assert idle.recall(CHAT) == chat

    archived = decide(Facts(chat=chat), Archive(), NOW).stamped(VersionStamp(7))
    assert await store.commit(archived) is not None
    assert idle.recall(CHAT) == archived.chat
    assert await store.commit(archived) is None, "overtaken by itself"
    assert idle.recall(CHAT) is None
