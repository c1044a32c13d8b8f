"""`advisor`: the model of a chat asks another model what to do, and reads the answer.

One decision (`TermsOf`) when the toolbox of a turn is opened gives the tool and the text that tells
of it, or neither. The cap of a turn is a fact of the chat (`domain.advice`), so a run here knows
that it may ask. The nested call has no tools and takes one step; what it cost is told with the
result. Of a dead worker the successor asks again: nothing happens but the bill.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from holdfast.domain.advice import ADVISOR, AdviceKind, advice_output, remaining_uses
from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.messages import Ending, MessageBody, Role, Visibility
from holdfast.domain.parts import JsonObject, Text
from holdfast.ports.clock import Clock
from holdfast.ports.models import Ask, ModelFailed, Models, ModelStream, TextDelta, Usage
from holdfast.ports.tools import (
    Effect,
    ModelUse,
    Run,
    Toolbox,
    ToolContext,
    ToolOutput,
    ToolSpec,
    never,
)
from holdfast.tools.advisor_prompt import (
    GUIDANCE,
    INTENT_CHARS_MAX,
    QUESTION_CHARS_MAX,
    SYSTEM,
    asking_text,
)

log: Final = logging.getLogger(__name__)

ATTEMPTS_MAX: Final = 3
FIRST_DELAY_S: Final = 1.0
DELAY_S_MAX: Final = 10.0
WITHIN_S: Final = 180.0
"""All attempts together; the deadline of the tool comes later, and only in doubt."""
NO_QUESTION: Final = 'Error: nothing was asked. `question` is missing: {"question": "...?"}.'
TOO_SLOW: Final = "The advisor gave no answer within {seconds:g} seconds. Decide without it."
BROKEN_OFF: Final = "The advisor's answer ended before it was complete. Decide without it."
EMPTY: Final = "The advisor answered without a word. Decide without it."
CUT: Final = "\n\n[The answer was cut off here: it was too long.]"
FAILED: Final = "The advisor could not answer: {sentence} Decide without it, or ask again later."

SPEC: Final = ToolSpec(
    name=ADVISOR,
    description="Ask another model for advice before you act. Call it alone in a reply.",
    schema={
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "maxLength": QUESTION_CHARS_MAX,
                "description": "One question, with the options and facts that matter.",
            },
            "intent": {
                "type": "string",
                "maxLength": INTENT_CHARS_MAX,
                "description": "What you would do without advice.",
            },
        },
        "required": ["question"],
    },
    effect=Effect.REPEATABLE,
    exclusive=True,
    reads_prompt=True,
    deadline_s=WITHIN_S + 30.0,
    foreign=False,
    sends_out=never,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisorTerms:
    """`uses_max`: answers in one turn; None: no bound. `output_max`: tokens of one answer."""

    model: str
    effort: str | None
    uses_max: int | None
    output_max: int

    def __post_init__(self) -> None:
        assert self.model, "an advisor without a model"
        assert self.uses_max is None or self.uses_max > 0
        assert self.output_max > 0


TermsOf: TypeAlias = Callable[[Chat], AdvisorTerms | None]
"""None: the chat has no advisor."""


@dataclass(slots=True)
class AdvisorCounters:
    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Advisor:
    """A source of tools. `terms_of` is asked once per turn. `waited`: told how long each call took,
    in seconds."""

    def __init__(
        self,
        models: Models,
        clock: Clock,
        terms_of: TermsOf,
        *,
        within_s: float = WITHIN_S,
        first_delay_s: float = FIRST_DELAY_S,
        waited: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.models = models
        self.clock = clock
        self.within_s = within_s
        self.first_delay_s = first_delay_s
        self.waited = waited
        self.counters = AdvisorCounters()
        self._terms_of = terms_of

    @property
    def names(self) -> frozenset[str]:
        return frozenset({ADVISOR})

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        yield AdvisorToolbox(self, self._terms_of(context.chat))


class AdvisorToolbox:
    """`terms`: the one decision; without them there is neither a tool nor a text."""

    def __init__(self, advisor: Advisor, terms: AdvisorTerms | None) -> None:
        self._advisor = advisor
        self._terms = terms
        self.specs: Mapping[str, ToolSpec] = {} if terms is None else {ADVISOR: SPEC}
        self.place: str | None = None

    async def sections(self) -> Sequence[str]:
        return () if self._terms is None else (GUIDANCE,)

    async def run(self, run: Run) -> ToolOutput:
        assert self._terms is not None, "it was not offered"
        question = str(run.call.arguments.get("question") or "").strip()[:QUESTION_CHARS_MAX]
        if not question:
            return ToolOutput(NO_QUESTION, failed=True)
        advisor, loop = self._advisor, asyncio.get_running_loop()
        asking = _Asking(advisor, self._terms, run, _ask(run, self._terms, question))
        advisor.counters.calls += 1
        began_s = loop.time()
        try:
            output = await asking.output()
        finally:
            advisor.waited(loop.time() - began_s)
        advisor.counters.failures += output.failed
        return output

    async def stop(self, call: OpenCall) -> None:
        """Nothing of a call is left once its cancellation has passed."""


def _ask(run: Run, terms: AdvisorTerms, question: str) -> Ask:
    assert run.prompt is not None, "it reads the prompt"
    intent = str(run.call.arguments.get("intent") or "").strip()[:INTENT_CHARS_MAX]
    text = asking_text(run.prompt, question, intent)
    ask = Ask(
        chat_id=run.chat.chat_id,
        owner_id=run.chat.owner_id,
        model=terms.model,
        effort=terms.effort or run.chat.effort,
        history=[
            MessageBody(role=Role.USER, parts=(Text(text),), visibility=Visibility.MODEL),
        ],
        system=(SYSTEM,),
        output_max=terms.output_max,
    )
    assert not ask.tools and not ask.provider_tools, "an advisor has no tools"  # noqa: PT018
    return ask


@dataclass(slots=True)
class _Asking:
    """One question, until it is answered or cannot be."""

    advisor: Advisor
    terms: AdvisorTerms
    run: Run
    ask: Ask
    usage: Usage | None = None
    shown: bool = False

    async def output(self) -> ToolOutput:
        try:
            async with asyncio.timeout(self.advisor.within_s):
                advice = await self._patiently()
        except TimeoutError:
            return self._told("error", TOO_SLOW.format(seconds=self.advisor.within_s))
        except ModelFailed as failed:
            # Not the provider's words: they may quote the chat.
            log.info("tools: no advice: the model failed", extra={"error": failed.kind.value})
            return self._told("error", FAILED.format(sentence=failed.turn_error().sentence))
        if advice is None:
            return self._told("error", BROKEN_OFF)
        return self._told("advice", advice) if advice else self._told("error", EMPTY)

    async def _patiently(self) -> str | None:
        """A failure is tried again only while readers have seen nothing: what they saw of an
        attempt that failed must not stand before the words of another one."""
        attempt = 1
        while True:
            try:
                return await self._answer()
            except ModelFailed as failed:
                if not failed.retryable or failed.own_deadline or self.shown:
                    raise
                if attempt >= min(ATTEMPTS_MAX, failed.attempts_max or ATTEMPTS_MAX):
                    raise
                own_s = min(self.advisor.first_delay_s * 2 ** (attempt - 1), DELAY_S_MAX)
                await asyncio.sleep(max(own_s, failed.retry_after_s or 0.0))
                attempt += 1

    async def _answer(self) -> str | None:
        """None: the provider never said that this was all."""
        said: list[str] = []
        async with self.advisor.models.stream(self.ask) as stream:
            try:
                async for event in stream:
                    if isinstance(event, TextDelta) and event.text:
                        said.append(event.text)
                        self.shown = True
                        self.run.emit(event.text)
            finally:
                self._count(stream)
            final = stream.final
        text = "".join(said).strip()
        if final is None:
            return None
        return text + CUT if text and final.ending is Ending.LENGTH else text

    def _count(self, stream: ModelStream) -> None:
        """What was billed counts, whatever came of it."""
        usage = stream.usage
        if usage is None:
            return
        self.usage = usage if self.usage is None else _sum(self.usage, usage)
        self.advisor.counters.input_tokens += usage.input
        self.advisor.counters.output_tokens += usage.output

    def _told(self, kind: AdviceKind, words: str) -> ToolOutput:
        failed = kind != "advice"
        # The reply that called has counted this use; a failure gives it back with its result.
        used = self.run.chat.advised - failed
        usage = None if self.usage is None else dict(self.usage.counts())
        output = advice_output(
            kind,
            words,
            model=self.terms.model,
            remaining=remaining_uses(self.terms.uses_max, used),
            usage=usage,
        )
        return ToolOutput(output, failed=failed, use=self._use(usage))

    def _use(self, usage: JsonObject | None) -> ModelUse | None:
        if self.usage is None or usage is None:
            return None
        advisor, model = self.advisor, self.terms.model
        cost = advisor.models.cost_micros(model, self.usage, advisor.clock.now())
        return ModelUse(model=model, usage=self.usage.counts(), cost_micros=cost)


def _sum(one: Usage, other: Usage) -> Usage:
    billed = [each.billed_micros for each in (one, other) if each.billed_micros is not None]
    return replace(
        other,
        **{name: getattr(one, name) + getattr(other, name) for name in _COUNTS},
        billed_micros=sum(billed) if len(billed) == 2 else None,
    )


_COUNTS: Final = tuple(
    name for name in Usage.__slots__ if name not in {"service_tier", "billed_micros"}
)
