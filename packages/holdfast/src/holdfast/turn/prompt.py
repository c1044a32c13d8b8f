"""The prompt of a turn: history read once, then continued with what the runner commits itself."""

from collections.abc import Sequence
from typing import Final

from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.foreign import sources_of
from holdfast.domain.ids import CallId, Seq, Version, VersionStamp
from holdfast.domain.messages import Ending, Message, MessageBody, Role, Visibility
from holdfast.domain.parts import Part, Reasoning, Text, ToolCall

GO_ON: Final = (
    "Your last message was cut off before its end. Go on exactly where it stopped, in the middle "
    "of a word if need be. Repeat nothing that it says, and do not mention the interruption."
)
_GO_ON: Final = MessageBody(role=Role.USER, parts=(Text(GO_ON),), visibility=Visibility.MODEL)


MESSAGE_BYTES: Final = 1_000
"""About what a message costs beside its words."""


class Prompt:
    """The messages of one history version, from its newest boundary on.

    `whole`: False if these are only the newest: no model could take all of them.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        history_version: Version,
        history_stamp: VersionStamp,
        *,
        whole: bool = True,
    ) -> None:
        self.whole = whole
        self._messages: list[Message] = []
        self._bytes = 0
        self._weighed = 0
        self._foreign: set[str] = set()
        self._searched = 0
        self.extend(messages, history_version, history_stamp)

    def fits(self, chat: Chat) -> bool:
        return self.is_of(chat.history_version, chat.history_stamp)

    def is_of(self, history_version: Version, history_stamp: VersionStamp) -> bool:
        return (self._version, self._stamp) == (history_version, history_stamp)

    def extend(
        self,
        messages: Sequence[Message],
        history_version: Version,
        history_stamp: VersionStamp,
    ) -> None:
        """What was committed on top of this history."""
        for message in messages:
            if message.body.role is Role.BOUNDARY:  # what is before it, no prompt says any more
                self._messages, self._bytes, self._weighed = [], 0, 0
                self._foreign, self._searched = set(), 0
                self.whole = True
            self._messages.append(message)
        self._version, self._stamp = history_version, history_stamp

    def weigh(self) -> int:
        """In bytes, about. Each message once, and none before the size is asked for."""
        for message in self._messages[self._weighed :]:
            self._bytes += MESSAGE_BYTES + sum(map(_weight, message.body.parts))
        self._weighed = len(self._messages)
        return self._bytes

    @property
    def foreign(self) -> frozenset[str]:
        """The sources of foreign text in it (`domain.foreign`). Each message is looked at once, and
        none before this is asked for."""
        for message in self._messages[self._searched :]:
            self._foreign.update(sources_of(message.body))
        self._searched = len(self._messages)
        return frozenset(self._foreign)

    @property
    def bodies(self) -> list[MessageBody]:
        """For the model; with a nudge behind each message that broke off and was, or is now to be,
        continued.

        The nudge is said by the user's side and never stored: providers refuse to be asked to go
        on inside a message of their own (prefill), and a paused reply is replayed as it is. Later
        prompts repeat it at the same place in the same words: providers bind what a model thought
        to all that came before it.

        A continuation that says nothing had nothing to continue: it gets no nudge, which else would
        stand beside what the user says next.
        """
        bodies: list[MessageBody] = []
        for message in self._messages:
            body = message.body
            goes_on = body.role is Role.ASSISTANT and body.parts
            if bodies and goes_on and _breaks_off(bodies[-1]):
                bodies.append(_GO_ON)
            bodies.append(body)
        if bodies and _breaks_off(bodies[-1]):
            bodies.append(_GO_ON)
        return bodies

    @property
    def prefix(self) -> str | None:
        """The digest of what the newest reply was made with; None if it is not known."""
        named = (message.body.prefix for message in reversed(self._messages))
        return next((digest for digest in named if digest is not None), None)

    @property
    def begins_turn(self) -> bool:
        """Whether a user has just spoken."""
        return bool(self._messages) and self._messages[-1].body.role is Role.USER

    def bound_from(self, bodies: Sequence[MessageBody], digest: str) -> int:
        """How many of the bodies, from the first on, are not all said with this prefix. A chat may
        come back to a prefix: what was said with another one in between does not fit it."""
        named = [(place, body.prefix) for place, body in enumerate(bodies) if body.prefix]
        others = [place for place, prefix in named if prefix != digest]
        if not others:
            return 0
        behind = (place for place, _ in named if place > others[-1])
        return next(behind, len(bodies))

    @property
    def cuts(self) -> int:
        """Replies in a row at its end that broke off."""
        cuts = 0
        for message in reversed(self._messages):
            body = message.body
            if body.role is Role.ASSISTANT and body.ending.is_cut:
                cuts += 1
            elif body.role is not Role.TOOL:  # which closes the calls of one
                break
        return cuts

    @property
    def thought_only(self) -> int:
        """Replies in a row at its end that reached their length by thinking alone."""
        count = 0
        for message in reversed(self._messages):
            body = message.body
            if body.ending is not Ending.LENGTH or not all(
                isinstance(part, Reasoning) for part in body.parts
            ):
                break
            count += 1
        return count

    @property
    def edited(self) -> Message | None:
        """The last message that a person said, if it stands where others were hidden: no number is
        given twice."""
        before = Seq(0)
        for index in range(len(self._messages) - 1, -1, -1):
            if self._messages[index].body.role is Role.USER:
                before = self._messages[index - 1].seq if index else before
                return self._messages[index] if self._messages[index].seq > before + 1 else None
        return None

    @property
    def call_ids(self) -> set[CallId]:
        return {call.call_id for message in self._messages for call in message.body.calls}

    def asked_beside(self, open_call: OpenCall) -> tuple[ToolCall, ...]:
        """All calls of the committed message that asked for this one, in order (X4)."""
        for message in reversed(self._messages):
            calls = message.body.calls
            if any(call.call_id == open_call.call_id for call in calls):
                return calls
        return ()


def _breaks_off(body: MessageBody) -> bool:
    return body.role is Role.ASSISTANT and body.ending.is_cut and any(map(speaks, body.parts))


def speaks(part: Part) -> bool:
    """Whether it holds words that another attempt can go on from."""
    return isinstance(part, Text) and bool(part.text.strip())


def _weight(part: Part) -> int:
    match part:
        case Text(text, None):
            return len(text)
        case _:
            return len(repr(part))
