"""The versions of a history that edits and restores left behind, as the fake store lists them."""

from collections.abc import Sequence

from holdfast.domain.ids import Seq, Version
from holdfast.domain.messages import Message
from holdfast.ports.history import OlderPath


def versions_of(messages: Sequence[Message]) -> list[OlderPath]:
    """Newest first; without those whose last message the present history or another version has."""
    hidden: dict[Version, list[Message]] = {}
    for message in messages:
        if message.removed_revision is not None:
            hidden.setdefault(message.removed_revision, []).append(message)
    taken = {_origin(each) for each in messages if each.removed_revision is None}
    taken |= {_origin(each) for path in hidden.values() for each in path[:-1]}
    found: list[OlderPath] = []
    for removed, path in sorted(hidden.items(), reverse=True):
        if _origin(path[-1]) not in taken:
            taken.add(_origin(path[-1]))
            found.append(OlderPath(Version(removed - 1), path[0].seq, len(path)))
    return found


def _origin(message: Message) -> Seq:
    return message.copied_from or message.seq
