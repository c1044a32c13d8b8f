"""What people answer to questions of the model, checked against the questions that were asked.

The arguments of a call never change, so they are read before the commit. Whether the call still
waits is for the commit to say: of two answers at once, one is taken.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.errors import CallNotOpen, CommandRefused, NotLawful
from holdfast.domain.ids import CallId, Seq
from holdfast.domain.parts import JsonObject, Need, Synthetic, ToolCall, ToolResult
from holdfast.domain.questions import ASK_USER, questions_of, result_of
from holdfast.ports.history import History

LOOKED_AT: Final = 50
"""Newest messages among which the result of a call is looked for, to say why it waits no more."""
_CLOSED: Final[Mapping[Synthetic | None, str]] = {
    None: "the call is answered already",
    Synthetic.INTERRUPTED: "the call was cancelled before this answer came",
    Synthetic.SUPERSEDED: "the call was cancelled before this answer came",
    Synthetic.EXPIRED: "the call waited as long as it could, and was closed",
}


async def checked(
    history: History, chat: Chat, results: Sequence[ToolResult]
) -> Sequence[ToolResult]:
    """The same, with each answer to questions in the form that the model reads. What says that
    there is no answer passes. Raises `AnswerNotValid`."""
    asked = {
        call.call_id: call
        for call in chat.open_calls
        if call.needs is Need.ANSWER and call.tool == ASK_USER
    }
    return [
        result
        if result.failed or result.call_id not in asked
        else await _answer(history, chat, asked[result.call_id], result)
        for result in results
    ]


async def why_closed(
    history: History, refused: CallNotOpen | NotLawful, call_ids: Collection[CallId]
) -> CommandRefused:
    """The same refusal, in words that say what became of the call, if one of them was closed."""
    page = await history.page(refused.chat_id, limit=LOOKED_AT)
    closed = (
        part
        for message in reversed(page.messages)
        for part in message.body.parts
        if isinstance(part, ToolResult) and part.call_id in call_ids
    )
    words = next((_CLOSED.get(result.synthetic) for result in closed), None)
    if words is None:
        return refused
    return type(refused)(refused.chat_id, refused.standing, refused.command, words)


async def _answer(history: History, chat: Chat, call: OpenCall, result: ToolResult) -> ToolResult:
    arguments = call.arguments
    if arguments is None:
        arguments = await _long_arguments(history, chat, call)
    return replace(result, output=result_of(questions_of(arguments), result.output))


async def _long_arguments(history: History, chat: Chat, call: OpenCall) -> JsonObject:
    """Of a call beside others that wait: together they are longer than the facts of a chat hold."""
    page = await history.page(chat.chat_id, limit=1, before=Seq(call.seq + 1))
    parts = (part for message in page.messages for part in message.body.parts)
    return next(
        part.arguments
        for part in parts
        if isinstance(part, ToolCall) and part.call_id == call.call_id
    )
