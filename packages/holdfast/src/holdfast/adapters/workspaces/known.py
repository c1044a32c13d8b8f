"""What this process has seen of chats' workspaces: enough to keep one alive at no further cost."""

from collections import OrderedDict
from dataclasses import dataclass

from holdfast.domain.ids import ChatId
from holdfast.domain.workspaces import Workspace


@dataclass(slots=True)
class _Seen:
    workspace: Workspace
    every_s: float | None
    """None: it never stops as idle, and needs no touch."""
    touch_at: float


class Known:
    """Chats with a workspace, as far as this process was asked for them; others cost nothing
    (L110)."""

    def __init__(self, known_max: int, touch_every_s: float) -> None:
        self._known_max = known_max
        self._touch_every_s = touch_every_s
        self._seen: OrderedDict[ChatId, _Seen] = OrderedDict()

    def see(
        self, chat_id: ChatId, workspace: Workspace | None, every_s: float | None, now: float
    ) -> None:
        before = self._seen.pop(chat_id, None)
        if workspace is None:
            return
        again = before is not None and before.workspace.workspace_id == workspace.workspace_id
        touch_at = before.touch_at if before is not None and again else now
        self._seen[chat_id] = _Seen(workspace, every_s, touch_at)
        while len(self._seen) > self._known_max:
            self._seen.popitem(last=False)

    def of(self, chat_id: ChatId) -> Workspace | None:
        seen = self._seen.get(chat_id)
        return None if seen is None else seen.workspace

    def due(self, chat_id: ChatId, now: float) -> Workspace | None:
        """The chat's workspace if it is time to say that it is still wanted; that it was asked
        counts as said."""
        seen = self._seen.get(chat_id)
        if seen is None or seen.every_s is None or now < seen.touch_at:
            return None
        seen.touch_at = now + min(seen.every_s, self._touch_every_s)
        return seen.workspace
