"""A prompt that grows keeps its beginning: providers cache it, and bind thinking to it."""

from dataclasses import replace
from datetime import UTC, datetime

from holdfast.domain.ids import Epoch, Seq, Version, VersionStamp
from holdfast.domain.messages import Ending, Message, MessageBody
from holdfast.domain.parts import Text
from holdfast.turn.prompt import GO_ON, Prompt
from tests.support.model import assistant, results, tool_call, tool_result, user

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def prompt(*bodies: MessageBody) -> Prompt:
    messages = [
        Message(
            seq=Seq(number),
            body=body,
            revision=Version(number),
            epoch=Epoch(1),
            created_at=NOW,
        )
        for number, body in enumerate(bodies, start=1)
    ]
    return Prompt(messages, Version(len(bodies)), VersionStamp(1))


CUT = assistant(Text("one two "), ending=Ending.LENGTH)
HISTORY = (
    user("count"),
    CUT,
    replace(CUT, ending=Ending.CUT),
    assistant(Text("three"), tool_call("c1")),
    results(tool_result("c1")),
    assistant(Text("four")),
    user("thanks"),
)


def test_a_cut_reply_is_followed_by_the_same_words_in_every_later_prompt() -> None:
    assert prompt(*HISTORY[:2]).bodies[-1].parts == (Text(GO_ON),)
    for length in range(1, len(HISTORY)):
        shorter, longer = prompt(*HISTORY[:length]).bodies, prompt(*HISTORY[: length + 1]).bodies
        assert longer[: len(shorter)] == shorter


def test_a_cut_reply_that_the_user_answered_is_not_to_be_continued() -> None:
    assert prompt(user("count"), CUT, user("enough")).bodies == [user("count"), CUT, user("enough")]


def test_a_reply_that_was_whole_before_it_was_cut_is_not_asked_for_again() -> None:
    nothing = assistant()
    said = (user("count"), CUT, nothing, user("thanks"))
    assert prompt(*said[:2]).bodies[-1].parts == (Text(GO_ON),), "it may have been cut"
    assert prompt(*said).bodies == list(said)
