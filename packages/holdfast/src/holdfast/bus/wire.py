r"""How hints and parts look on the wire: a line of text, then bytes as they are.

    h <chat> <version> <status> <history_version> <runnable> <worker or ->\n<inline>
    p <history_version> <attempt> <seq>\n<payload>

A part does not name its chat: its topic does. Replicas of different versions share a bus, so
whatever we cannot read is a gap, never an error: the truth is elsewhere.
"""

from dataclasses import replace
from typing import Final, TypeAlias
from uuid import UUID

from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, UserId, Version, WorkerId
from holdfast.ports.bus import GAP, Episode, Hint, LivePart, News

RUNNABLE: Final = "runnable"
Topic: TypeAlias = ChatId | str
"""What one can watch: a chat; as `RUNNABLE`, all chats that wait for a worker; as `worker_topic`,
what others do to the chats of one; as `user_topic`, what changes in the list of one user."""


def worker_topic(worker_id: WorkerId) -> str:
    return f"worker:{worker_id.hex}"


def user_topic(user_id: UserId) -> str:
    return f"user:{user_id.hex}"


def addressed(hint: Hint) -> list[tuple[Topic, Hint]]:
    """Whom to tell what: readers all of it, workers without the commit, which they do not read."""
    only_listed = not hint.version and hint.listed_for is not None  # no commit: nothing to read
    told: list[tuple[Topic, Hint]] = [] if only_listed else [(hint.chat_id, hint)]
    if hint.runnable:
        told.append((RUNNABLE, replace(hint, inline=b"")))
    if hint.worker_id is not None:
        told.append((worker_topic(hint.worker_id), replace(hint, inline=b"")))
    if hint.listed_for is not None:
        told.append((user_topic(hint.listed_for), replace(hint, inline=b"")))
    return told


def topic_name(topic: Topic) -> str:
    return topic if isinstance(topic, str) else topic.hex


def encode_hint(hint: Hint) -> bytes:
    return b"h %b %d %b %d %d %b\n%b" % (
        hint.chat_id.hex.encode(),
        hint.version,
        hint.status.encode(),
        hint.history_version,
        hint.runnable,
        b"-" if hint.worker_id is None else hint.worker_id.hex.encode(),
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
            chat, version, status, history_version, runnable, worker = fields
            return Hint(
                ChatId(UUID(chat.decode())),
                Version(int(version)),
                Status(status.decode()),
                history_version=Version(int(history_version)),
                runnable=runnable == b"1",
                worker_id=None if worker == b"-" else WorkerId(UUID(worker.decode())),
                inline=body,
            )
    except ValueError:
        return GAP
    return GAP
