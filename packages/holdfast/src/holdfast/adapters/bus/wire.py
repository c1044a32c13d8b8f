r"""How hints and parts look on the wire: a line of text, then bytes as they are.

    h <chat> <version> <status> <history_version> <runnable> <worker or ->\n<inline>
    s <organisation> <version>\n
    p <history_version> <attempt> <seq> <history_stamp> <turn_seq or 0>\n<payload>

A part does not name its chat: its topic does. Replicas of different versions share a bus, so
whatever we cannot read is a gap, never an error: the truth is elsewhere.
"""

from dataclasses import replace
from typing import Final, TypeAlias
from uuid import UUID

from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, OrgId, Seq, UserId, Version, VersionStamp, WorkerId
from holdfast.ports.bus import GAP, Episode, Gap, Hint, LivePart, SettingsHint

RUNNABLE: Final = "runnable"
SETTINGS: Final = "settings"
Topic: TypeAlias = ChatId | str
"""What one can watch: a chat; as `RUNNABLE`, all chats that wait for a worker; as `worker_topic`,
what others do to the chats of one; as `user_topic`, what changes in the list of one user; as
`SETTINGS`, changes of settings in all organisations."""


def worker_topic(worker_id: WorkerId) -> str:
    return f"worker:{worker_id.hex}"


def user_topic(user_id: UserId) -> str:
    return f"user:{user_id.hex}"


def addressed(hint: Hint | SettingsHint) -> list[tuple[Topic, Hint | SettingsHint]]:
    """Whom to tell what: readers all of it, workers without the commit, which they do not read."""
    if isinstance(hint, SettingsHint):
        return [(SETTINGS, hint)]
    only_listed = not hint.version and hint.listed_for is not None  # no commit: nothing to read
    told: list[tuple[Topic, Hint | SettingsHint]] = [] if only_listed else [(hint.chat_id, hint)]
    if hint.runnable:
        told.append((RUNNABLE, replace(hint, inline=b"")))
    if hint.worker_id is not None:
        told.append((worker_topic(hint.worker_id), replace(hint, inline=b"")))
    if hint.listed_for is not None:
        told.append((user_topic(hint.listed_for), replace(hint, inline=b"")))
    return told


def topic_name(topic: Topic) -> str:
    return topic if isinstance(topic, str) else topic.hex


def encode_hint(hint: Hint | SettingsHint) -> bytes:
    if isinstance(hint, SettingsHint):
        return b"s %b %d\n" % (hint.org_id.hex.encode(), hint.version)
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
    version, attempt, stamp = part.episode
    turn_seq = part.turn_seq or 0
    return b"p %d %d %d %d %d\n%b" % (version, attempt, part.seq, stamp, turn_seq, part.payload)


def decode(topic: Topic, frame: bytes) -> Hint | SettingsHint | LivePart | Gap:
    head, _, body = frame.partition(b"\n")
    try:
        kind, *fields = head.split(b" ")
        if kind == b"p" and not isinstance(topic, str):
            version, attempt, seq, stamp, turn_seq = map(int, fields)
            episode = Episode(Version(version), attempt, VersionStamp(stamp))
            return LivePart(topic, episode, seq, body, Seq(turn_seq) if turn_seq else None)
        if kind == b"s" and topic == SETTINGS:
            org, version = fields
            return SettingsHint(OrgId(UUID(org.decode())), int(version))
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
