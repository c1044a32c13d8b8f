"""What the steps share that ask a model: before an attempt, after one, and after its failure."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from holdfast.chats.changes import Commit
from holdfast.domain.chat import Backoff, ErrorKind, TurnError
from holdfast.domain.commands import BeginAttempt, CommitStep, NeedCompaction, RecordRetry
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.parts import Part
from holdfast.ports.models import Ask, ModelFailed, Reply, Usage
from holdfast.turn.attempt import AttemptResult
from holdfast.turn.failures import FailedAttempt, error_of, labels_of, log_attempt
from holdfast.turn.fallback import ModelChain, is_outage
from holdfast.turn.live import LiveSummary
from holdfast.turn.prefix import SentPrefix
from holdfast.turn.prompt import Prompt
from holdfast.turn.recheck import Interruption, apply, attend
from holdfast.turn.retry import Decision, StopReason, next_attempt
from holdfast.turn.session import TurnSession
from holdfast.turn.turn import PlannedModel

# Before an attempt.


async def begin(
    session: TurnSession, refusal: Callable[[], TurnError | None] = lambda: None
) -> bool:
    """Wait out a backoff and count the attempt, before it is made (P3). False: nudged, or refused:
    then the turn has failed. `refusal`: why the model is not asked. It is asked for at the end
    again, by the settings that the statement which began the attempt has seen."""
    turn = session.turn
    if await _is_refused(session, refusal):
        return False
    if turn.chat.backoff is not None:
        turn.planned = PlannedModel(turn.step, turn.chat.backoff.model)
        nudged = await wait_out(session, turn.chat.backoff)
        if nudged is not None:
            apply(turn, nudged)
            return False
    if not turn.is_begun:
        await session.commit(BeginAttempt())
    await session.catch_up()
    return turn.is_begun and not await _is_refused(session, refusal)


async def _is_refused(session: TurnSession, refusal: Callable[[], TurnError | None]) -> bool:
    error = refusal()
    if error is not None:
        await session.fail(error, keeps=False)
    return error is not None


async def wait_out(session: TurnSession, backoff: Backoff) -> Interruption | None:
    """Exactly the delay that readers were shown (L46); of another worker's, the rest of it."""
    turn, services = session.turn, session.services
    loop = asyncio.get_running_loop()
    if turn.wait_ends_s is not None:
        rest_s = turn.wait_ends_s - loop.time()
    else:
        rest_s = (backoff.until - services.clock.now()).total_seconds()
    rest_s = min(max(rest_s, 0.0), backoff.delay_ms / 1000)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(
            attend(turn, services.reading, pause_s=services.options.pause_s)
        )
        await asyncio.wait({watching}, timeout=rest_s)
        nudged = watching.result() if watching.done() else None
        watching.cancel()
    turn.wait_ends_s = None if nudged is None else turn.wait_ends_s
    return nudged


def ask(session: TurnSession, prompt: Prompt, sent: SentPrefix) -> Ask:
    turn = session.turn
    turn.sends(sent)
    history = prompt.bodies
    digest = prompt.prefix if sent.row is None else sent.row.digest
    chain = session.chain()
    place = chain.passing(_planned(session, chain), session.services.breakers.admits)
    # Kept, for the bill: another model may be the default before this one has answered.
    turn.asked_model = chain.choices[place].model
    turn.falls_back = place > 0
    return Ask(
        chat_id=turn.chat.chat_id,
        owner_id=turn.chat.owner_id,
        model=turn.asked_model,
        effort=turn.chat.effort,
        history=history if sent.news is None else [*history, sent.news],
        bound_from=0 if digest is None else prompt.bound_from(history, digest),
        system=sent.prefix.system,
        tools=sent.prefix.specs,
        provider_tools=sent.prefix.provider_specs,
    )


def _planned(session: TurnSession, chain: ModelChain) -> int:
    """Whose turn it is: as the recorded retry says, or, behind a lost worker, by the number."""
    turn = session.turn
    if turn.planned is not None and turn.planned.step == turn.step:
        model = turn.planned.model
        place = 0 if model is None else chain.place(model)
        if place is not None:
            return place
    return chain.at_attempt(turn.attempts_made)


def model_at(session: TurnSession, attempt: int) -> str | None:
    """Which model a lost worker asked, as far as the number of its attempt says."""
    chain = session.chain()
    return chain.choices[chain.at_attempt(attempt - session.turn.chat.attempts_forgiven)].model


def ask_beside(session: TurnSession, said: MessageBody) -> Ask:
    """Of the model that summarises, without the history and without tools."""
    turn = session.turn
    turn.asked_model = session.services.rules.summary_model_of(turn.chat)
    turn.asked_model = turn.asked_model or session.chain().choices[0].model
    turn.falls_back = False
    return Ask(
        chat_id=turn.chat.chat_id,
        owner_id=turn.chat.owner_id,
        model=turn.asked_model,
        effort=turn.chat.effort,
        history=(said,),
    )


async def attempt(
    session: TurnSession, asking: Ask, *, summary: LiveSummary | None = None
) -> AttemptResult:
    """Call the model once, and tell the circuit breaker of its endpoint how that went."""
    services, heard = session.services, AttemptResult()
    endpoint = services.models.route(asking.model).endpoint
    services.breakers.begun(endpoint)
    try:
        heard = await services.generation.attempt(session.turn, asking, summary=summary)
    finally:
        if heard.reply is not None:
            services.breakers.answered(endpoint)
        elif heard.failed is not None and is_outage(heard.failed):
            services.breakers.failed(endpoint)
        else:
            services.breakers.abandoned(endpoint)
    return heard


# After an attempt.


def body(session: TurnSession, reply: Reply, parts: tuple[Part, ...]) -> MessageBody:
    """A whole reply as a message, with what it cost."""
    turn, services, usage = session.turn, session.services, reply.usage
    if usage is not None:
        session.counters.input_tokens += usage.input
        session.counters.output_tokens += usage.output
    session.counters.fallback_replies += turn.falls_back
    return MessageBody(
        role=Role.ASSISTANT,
        parts=parts,
        ending=reply.ending,
        model=turn.asked_model,
        effort=turn.chat.effort,
        usage=None if usage is None else usage.counts(),
        cost_micros=services.models.cost_micros(turn.asked_model, usage, services.clock.now()),
    )


def total(usages: Sequence[Usage]) -> Usage:
    """Of all calls that one message was made with."""
    names = (field.name for field in fields(Usage) if field.name != "service_tier")
    counts = {name: sum(getattr(usage, name) or 0 for usage in usages) for name in names}
    billed = [usage.billed_micros for usage in usages if usage.billed_micros is not None]
    told = sum(billed) if len(billed) == len(usages) else None
    return replace(usages[-1], **{**counts, "billed_micros": told})


def is_last_attempt(session: TurnSession, failed: ModelFailed) -> bool:
    """Whether no further attempt follows this failure."""
    return isinstance(_decide(session, failed, error_of(failed)), StopReason)


async def without_reply(session: TurnSession, heard: AttemptResult) -> Commit | None:
    """After a failure: a retry, or the end of the turn. After a nudge: what was said is kept, if
    the worker lets go."""
    if heard.failed is not None:
        if await _looked_away(session):
            return None
        if heard.failed.kind is ErrorKind.CONTEXT_OVERFLOW:
            return await _overflowed(session, heard.failed)
        return await _failed(session, heard.failed)
    assert heard.nudged is not None, "an attempt ends in a reply, a failure or a nudge"
    apply(session.turn, heard.nudged)
    said = session.turn.said_here()
    if not heard.nudged.leaving or said is None or not said.parts:
        return None
    # Kept, for a reader has seen it (M4); the next worker goes on where it stops.
    session.counters.handovers += 1
    return await session.commit(CommitStep(session.kept(said, Ending.CUT)))


async def _looked_away(session: TurnSession) -> bool:
    """Whether a failure came together with an interrupt or an edit, which then go first: some
    providers report a stop as an error (L02)."""
    turn = session.turn
    if not turn.nudges.pending or turn.nudges.leaving:
        return False
    history = turn.chat.history
    await session.reread()
    return turn.interrupting or turn.chat.history != history


async def _overflowed(session: TurnSession, failed: ModelFailed) -> Commit | None:
    """After a prompt that the provider refused as too long: a summary is the next step, if there is
    something to summarise."""
    turn = session.turn
    found = session.services.compaction.after_overflow(turn.chat)
    if found is None:
        return await _failed(session, failed)
    if isinstance(found, TurnError):
        return await session.fail(found, failed=failed)
    turn.spent = turn.episode
    session.counters.provider_errors[labels_of(error_of(failed))] += 1
    return await session.commit(NeedCompaction(found))


async def _failed(session: TurnSession, failed: ModelFailed) -> Commit | None:
    turn = session.turn
    turn.spent = turn.episode
    error = error_of(failed)
    decision = _decide(session, failed, error)
    session.counters.provider_errors[labels_of(error)] += 1
    log_attempt(
        FailedAttempt(
            failed=failed,
            error=error,
            model=session.model_name(),
            host=session.services.models.route(turn.asked_model).host,
            attempt=turn.chat.attempt,
            then=None if isinstance(decision, StopReason) else decision,
        )
    )
    if isinstance(decision, StopReason):
        return await session.fail(error, failed=failed)
    session.counters.retries += 1
    commit = await session.commit(RecordRetry(decision))
    turn.wait_ends_s = asyncio.get_running_loop().time() + decision.delay_ms / 1000
    return commit


def _decide(session: TurnSession, failed: ModelFailed, error: TurnError) -> Decision:
    """Whether there is another attempt, when, and of which model."""
    turn, services, chain = session.turn, session.services, session.chain()
    if failed.own_deadline:
        return StopReason.OWN_DEADLINE
    made = turn.attempts_made
    place = chain.place(turn.asked_model) or 0
    following = chain.after(place, failed, made, services.breakers.admits)
    policy = services.options.retry
    if failed.attempts_max is not None:
        attempts_max = min(policy.attempts_max, failed.attempts_max)
        policy = replace(policy, attempts_max=attempts_max)
    decision = next_attempt(
        error,
        attempt=made,
        now=services.clock.now(),
        chance=services.chance(),
        hint_s=failed.retry_after_s,
        policy=policy,
        switches=following != place,
    )
    if isinstance(decision, StopReason) or following == 0:
        return decision
    return replace(decision, model=chain.choices[following].model)
