"""When a chat is compacted: between steps, once its prompt takes too large a share of the window.

The decision is a command (`NeedCompaction`) with the numbers that it was made of, so a successor
makes the summary that was decided, whatever the settings are by then. It rides in the commit of the
step before; below the threshold nothing is sent and nothing is told.
"""

from typing import Final

from holdfast.domain.chat import Chat, ErrorKind, TurnError
from holdfast.domain.compaction import (
    COMPACTIONS_MAX,
    NEVER_PERCENT,
    Compaction,
    CompactionReason,
)
from holdfast.ports.models import Models
from holdfast.turn.step_policy import StepPolicy

DROP_SHARE: Final = 0.95
"""Of the window: a turn whose summary failed goes on below it."""

TOO_LARGE: Final = TurnError(
    kind=ErrorKind.CONTEXT_OVERFLOW,
    sentence="The chat no longer fits into the model's context window.",
)
IRREDUCIBLE: Final = TurnError(
    kind=ErrorKind.CONTEXT_OVERFLOW,
    sentence=(
        "The chat is too long for this model, and summaries did not make it short enough. The "
        "history is unchanged. Choose a model with a larger context window, shorten the "
        "instructions or the tools, or go back to an earlier message."
    ),
)


class CompactionPolicy:
    def __init__(self, models: Models, rules: StepPolicy) -> None:
        self._models = models
        self._rules = rules

    def limit_of(self, chat: Chat) -> int | None:
        """The stricter window of the chat's model and of the model that summarises."""
        asked = {self._rules.model_of(chat), self._rules.summary_model_of(chat)}
        windows = [self._models.context_window(model) for model in asked]
        return min((window for window in windows if window), default=None)

    def is_automatic(self, chat: Chat) -> bool:
        return self._rules.compaction_percent(chat) < NEVER_PERCENT

    def is_spent(self, chat: Chat) -> bool:
        """Whether summaries in a row have not helped (L17)."""
        return chat.compaction is not None and chat.compaction.in_a_row >= COMPACTIONS_MAX

    def over_threshold(self, chat: Chat) -> Compaction | None:
        """Why the next prompt is too long, as far as its size is known."""
        used, before = chat.prompt_tokens, chat.compaction
        if used is None or chat.compaction_requested or not chat.compactable:
            return None
        if before is not None and before.dropped and before.used_tokens == used:
            return None  # this very prompt is sent without a summary
        percent, limit = self._rules.compaction_percent(chat), self.limit_of(chat)
        if percent >= NEVER_PERCENT or limit is None:
            return None
        decided = Compaction(
            reason=CompactionReason.THRESHOLD,
            used_tokens=used,
            limit_tokens=limit,
            percent=percent,
        )
        return None if decided.is_answered_by(used) else decided

    def due(self, chat: Chat) -> Compaction | None:
        """The compaction that is to be made before the model is asked again."""
        return None if self.is_spent(chat) else self.over_threshold(chat)

    def before_reply(self, chat: Chat, *, whole: bool) -> Compaction | TurnError | None:
        """What is to be done before the model is asked: a compaction, or no reply at all. `whole`:
        whether all of the prompt could be read."""
        if not whole:
            return self.after_overflow(chat) or TOO_LARGE
        decided = self.over_threshold(chat)
        return IRREDUCIBLE if decided is not None and self.is_spent(chat) else decided

    def after_overflow(self, chat: Chat) -> Compaction | TurnError | None:
        """What lets a turn go on whose prompt did not fit; or why nothing does. None: no summary
        was tried, and none is to be."""
        if chat.compaction_requested or not self.is_automatic(chat):
            return None
        if not chat.compactable or self.is_spent(chat):
            return IRREDUCIBLE
        return Compaction(
            reason=CompactionReason.OVERFLOW,
            used_tokens=chat.prompt_tokens,
            limit_tokens=self.limit_of(chat),
            percent=self._rules.compaction_percent(chat),
        )

    def may_go_on(self, chat: Chat) -> bool:
        """Whether a turn goes on although its summary failed: there is room, and no person asked
        for it."""
        decided = chat.compaction
        if decided is None or decided.reason is not CompactionReason.THRESHOLD:
            return False
        used, limit = decided.used_tokens, decided.limit_tokens
        return used is not None and limit is not None and used < DROP_SHARE * limit
