"""Which model writes about a chat."""

from collections.abc import Callable
from typing import TypeAlias

from holdfast.domain.chat import Chat
from holdfast.ports.models import Models
from holdfast.turn.step_policy import StepPolicy

ModelFor: TypeAlias = Callable[[Chat], str | None]
"""None: no model may."""


def title_model_for(rules: StepPolicy, models: Models, given: str | None) -> ModelFor:
    """`given`: the operator's choice for all chats; without one it is the model of the chat."""

    def choose(chat: Chat) -> str | None:
        if given is not None:
            return given
        if rules.refusal(chat) is not None:
            return None
        return rules.model_of(chat) or models.route(None).model or None

    return choose
