"""What the transcript is told of lost workers: with the first message that a successor commits."""

from dataclasses import replace

from holdfast.domain.chat import LostWorkers
from holdfast.domain.commands import CommitStep, FromWorker
from holdfast.domain.messages import Takeover
from holdfast.domain.prefix import is_news
from holdfast.turn.turn import Turn


def add_takeover(
    turn: Turn, commands: tuple[FromWorker, ...], *, lease_s: float | None
) -> tuple[FromWorker, ...]:
    """The same commands; the first message that readers see says that workers were lost, if some
    were.

    A stop is told as a stop, and no line stands beside it.
    """
    lost = turn.chat.lost
    if lost is None or turn.interrupting:
        return commands
    for place, command in enumerate(commands):
        if isinstance(command, CommitStep):
            news = [body for body in command.messages if is_news(body)]
            first, *rest = command.messages[len(news) :]
            takeover = Takeover(
                attempt=command.attempt or turn.chat.attempt,
                lost_workers=lost.workers,
                after_s=_after_s(lost, lease_s),
                kept=turn.keeps_words,
                calls=turn.inherited_calls,
            )
            said = (*news, replace(first, takeover=takeover), *rest)
            told = replace(command, messages=said)
            return (*commands[:place], told, *commands[place + 1 :])
    return commands


def _after_s(lost: LostWorkers, lease_s: float | None) -> int | None:
    """A lease is renewed for `lease_s` at each sign of its worker, so the last sign was so long
    before its end."""
    if lease_s is None:
        return None
    return max(0, round((lost.until - lost.since).total_seconds() + lease_s))
