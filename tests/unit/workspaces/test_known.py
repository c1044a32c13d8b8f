"""What a process remembers of workspaces: enough to touch them rarely, and others never."""

from holdfast.adapters.workspaces.known import Known
from tests.requirements import requirement
from tests.support.builders import CHAT
from tests.support.doubles import SeededIds
from tests.support.workspaces import a_workspace


@requirement("L110")
def test_a_chat_without_a_workspace_is_never_due() -> None:
    known = Known(known_max=10, touch_every_s=60)
    assert known.due(CHAT, 0) is None
    known.see(CHAT, a_workspace(), None, 0)
    assert known.due(CHAT, 1_000) is None, "it stops at no time"
    known.see(CHAT, None, None, 0)
    assert known.of(CHAT) is None


@requirement("L110")
def test_a_workspace_is_due_at_once_and_then_once_a_minute() -> None:
    known, workspace = Known(known_max=10, touch_every_s=60), a_workspace()
    known.see(CHAT, workspace, 900, 0)
    due = [at for at in range(200) if known.due(CHAT, at) is not None]
    assert due == [0, 60, 120, 180]
    known.see(CHAT, workspace, 900, 200)
    assert known.due(CHAT, 200) is None, "seen again is not seen anew"
    known.see(CHAT, a_workspace(), 900, 200)
    assert known.due(CHAT, 200) is not None, "another one is"


def test_a_short_life_is_extended_more_often() -> None:
    known = Known(known_max=10, touch_every_s=60)
    known.see(CHAT, a_workspace(), 10, 0)
    assert [at for at in range(25) if known.due(CHAT, at) is not None] == [0, 10, 20]


def test_what_is_remembered_is_bounded() -> None:
    known, ids = Known(known_max=3, touch_every_s=60), SeededIds()
    chats = [ids.new_chat_id() for _ in range(5)]
    for chat in chats:
        known.see(chat, a_workspace(), None, 0)
    assert [known.of(chat) is not None for chat in chats] == [False, False, True, True, True]
