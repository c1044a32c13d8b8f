r"""How hints and parts look on the wire: a line of text, then bytes as they are.

    h <chat> <version> <status> <runnable>\n<inline>
    p <history_version> <attempt> <seq>\n<payload>

A part does not name its chat: its topic does. Replicas of different versions share a bus, so
whatever we cannot read is a gap, never an error: the truth is elsewhere.
"""

from typing import Final, TypeAlias
from uuid import UUID

from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, Version
from holdfast.ports.bus import GAP, Episode, Hint, LivePart, News

RUNNABLE: Final = "runnable"
Topic: TypeAlias = ChatId | str
"""What one can watch: a chat, or, as `RUNNABLE`, all chats that wait for a worker."""


def topic_name(topic: Topic) -> str:
    return topic if isinstance(topic, str) else topic.hex


def encode_hint(hint: Hint) -> bytes:
    return b"h %b %d %b %d\n%b" % (
        hint.chat_id.hex.encode(),
        hint.version,
        hint.status.encode(),
        hint.runnable,
        hint.inline,
    )


def encode_part(part: LivePart) -> bytes:
    version, attempt = part.episode
    return b"p %d %d %d\n%b" % (version, attempt, part.seq, part.payload)


def decode(topic: Topic, frame: bytes) -> News:
    head, _, body = frame.partition(b"\n")
    try:
        kind, *fields = head.split(b" ")
        if kind == b"p" and not isinstance(topic, str):
            version, attempt, seq = map(int, fields)
            return LivePart(topic, Episode(Version(version), attempt), seq, body)
        if kind == b"h":
            chat, version, status, runnable = fields
            return Hint(
                ChatId(UUID(chat.decode())),
                Version(int(version)),
                Status(status.decode()),
                runnable == b"1",
                body,
            )
    except ValueError:
        return GAP
    return GAP
