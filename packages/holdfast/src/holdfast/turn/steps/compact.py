"""Compact: ask a model where things stand, and mark it as the boundary of the prompt.

Readers see it as live parts of their own: it begins, the summary as it comes, it ends; then the
boundary is committed. An interrupt or a lost worker leaves nothing of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.chats.changes import Commit
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.commands import CommitStep, DropCompaction
from holdfast.domain.compaction import (
    TOKEN_BYTES,
    Compaction,
    CompactionReason,
    estimated_tokens,
)
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.next_step import Compact
from holdfast.domain.parts import Part, Text
from holdfast.domain.prefix import is_news
from holdfast.ports.models import Ask, Reply, Usage
from holdfast.turn import model_steps, summary
from holdfast.turn.attempt import AttemptResult, EndedEarly
from holdfast.turn.failures import log_dropped_compaction
from holdfast.turn.live import LiveSummary
from holdfast.turn.prompt import Prompt
from holdfast.turn.session import TurnSession

NO_SUMMARY: Final = "nothing was said of where things stand"
USER_WORDS_SHARE: Final = 8
"""Of the context window, one part in so many is for what the user said, word for word."""
INTERRUPTED: Final = "interrupted"


@dataclass
class _Summary:
    """A summary in the making."""

    session: TurnSession
    prompt: Prompt
    bodies: Sequence[MessageBody]
    decided: Compaction
    limit_tokens: int | None
    voice: LiveSummary
    calls: int = 0
    usages: list[Usage] = field(default_factory=list[Usage])


async def perform(session: TurnSession, _step: Compact) -> Commit | None:
    if not await model_steps.begin(session, lambda: _refusal(session)):
        return None
    chat, services = session.turn.chat, session.services
    decided = chat.compaction or Compaction(reason=CompactionReason.REQUESTED)
    limit = services.compaction.limit_of(chat)
    voice = services.generation.summary_voice(session.turn)
    try:
        await voice.begin(decided)
        prompt = await session.prompt()
        bodies = prompt.bodies if prompt.whole else await session.excerpts()
        making = _Summary(session, prompt, bodies, decided, limit, voice)
        heard = await _summarise(making)
        text = "" if heard.reply is None else boundary_text(heard.reply.parts)
        if heard.reply is not None and not text:
            heard = AttemptResult(failed=EndedEarly(NO_SUMMARY))
        await voice.end(_outcome(heard))
    finally:
        voice.close()
    if heard.reply is None:
        return await _without_summary(session, heard)
    return await session.commit_step(_boundary(making, heard.reply, text))


def _refusal(session: TurnSession) -> TurnError | None:
    return session.services.rules.refusal(session.turn.chat)


def boundary_text(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text)).strip()


# Asking.


async def _summarise(making: _Summary) -> AttemptResult:
    """The prompt as it is, if it fits: its beginning is in the provider's cache. Else in pieces."""
    if making.prompt.whole and _may_fit(making):
        heard = await _ask(making, await _whole(making))
        if not _overflows(heard):
            return heard
    budget = _piece_bytes(making)
    heard = AttemptResult(failed=EndedEarly(NO_SUMMARY))
    while making.calls < summary.PIECES_MAX:
        heard = await _in_pieces(making, budget)
        if not _overflows(heard):
            break
        budget = max(budget // 2, summary.PIECE_BYTES_MIN)
    return heard


def _may_fit(making: _Summary) -> bool:
    if making.decided.reason is CompactionReason.OVERFLOW:
        return False
    if making.limit_tokens is None:
        return True
    used = making.decided.used_tokens
    used = sum(map(estimated_tokens, making.bodies)) if used is None else used
    return summary.fits_whole(used, making.limit_tokens)


def _piece_bytes(making: _Summary) -> int:
    if making.limit_tokens is not None:
        return summary.piece_bytes(making.limit_tokens)
    whole = TOKEN_BYTES * sum(map(estimated_tokens, making.bodies))
    return max(whole // 2, summary.PIECE_BYTES_MIN)


async def _whole(making: _Summary) -> Ask:
    session, prompt = making.session, making.prompt
    sent = await session.prefix(prompt, await session.introduced(), renews=False)
    asking = model_steps.ask(session, prompt, sent)
    said = summary.user_says(summary.instruction(making.decided.keep))
    asking = replace(asking, history=[*asking.history, said])
    rules, chat = session.services.rules, session.turn.chat
    own = rules.summary_model_of(chat)
    if own == rules.model_of(chat):
        return asking
    session.turn.asked_model, session.turn.falls_back = own, False
    return replace(asking, model=own, provider_tools=())


async def _in_pieces(making: _Summary, budget: int) -> AttemptResult:
    pieces = summary.pieces_of(making.bodies, budget, summary.PIECES_MAX - making.calls)
    heard, before = AttemptResult(failed=EndedEarly(NO_SUMMARY)), ""
    for number, text in enumerate(pieces, start=1):
        told = summary.piece_of(text, number, len(pieces), before, budget)
        told += summary.instruction(making.decided.keep, carries_over=number > 1)
        heard = await _ask(making, model_steps.ask_beside(making.session, summary.user_says(told)))
        if heard.reply is None:
            break
        before = boundary_text(heard.reply.parts)
    return heard


def system_of(bodies: Sequence[MessageBody]) -> tuple[MessageBody, ...]:
    """What a boundary keeps. News are not of it: what comes after a boundary is told anew."""
    return tuple(body for body in bodies if body.role is Role.SYSTEM and not is_news(body))


async def _ask(making: _Summary, asking: Ask) -> AttemptResult:
    if making.calls:
        making.voice.begin_again(making.decided)
    making.calls += 1
    heard = await model_steps.attempt(making.session, asking, summary=making.voice)
    if heard.reply is not None and heard.reply.usage is not None:
        making.usages.append(heard.reply.usage)
    return heard


def _overflows(heard: AttemptResult) -> bool:
    return heard.failed is not None and heard.failed.kind is ErrorKind.CONTEXT_OVERFLOW


# After an attempt.


def _outcome(heard: AttemptResult) -> str | None:
    """Why there is no summary; None: there is one."""
    if heard.failed is not None:
        return heard.failed.turn_error().sentence
    return None if heard.reply is not None else INTERRUPTED


def _boundary(making: _Summary, reply: Reply, text: str) -> CommitStep:
    session = making.session
    session.counters.compactions += 1
    limit = making.limit_tokens
    chars = summary.USER_WORDS_CHARS_MAX if limit is None else limit * TOKEN_BYTES
    words = summary.user_words(making.bodies, chars // USER_WORDS_SHARE)
    parts: tuple[Part, ...] = (Text(text),) if words is None else (Text(text), words)
    if making.usages:
        reply = replace(reply, usage=model_steps.total(making.usages))
    body = replace(
        model_steps.body(session, reply, parts), role=Role.BOUNDARY, ending=Ending.COMPLETE
    )
    # System messages lie before the boundary, where no prompt looks any more: said again.
    return CommitStep((body, *system_of(making.bodies)))


async def _without_summary(session: TurnSession, heard: AttemptResult) -> Commit | None:
    """A retry as of any step. If there is none, the turn goes on without, where there is room."""
    if heard.failed is None:
        return await model_steps.without_reply(session, heard)
    if _overflows(heard) or not model_steps.is_last_attempt(session, heard.failed):
        return await model_steps.without_reply(session, heard)
    if not session.services.compaction.may_go_on(session.turn.chat):
        return await model_steps.without_reply(session, heard)
    log_dropped_compaction(heard.failed)
    session.turn.spent = session.turn.episode
    return await session.commit(DropCompaction())
