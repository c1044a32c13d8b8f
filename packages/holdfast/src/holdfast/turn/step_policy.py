"""What goes for a step of a turn: as the server was started, and as the admins have set it."""

from dataclasses import dataclass

from holdfast.domain.approvals import Judgement, strictest
from holdfast.domain.chat import Chat, ErrorKind, TurnError
from holdfast.domain.parts import ToolCall
from holdfast.ports.org_settings import CurrentSettings
from holdfast.turn.options import TurnOptions

NOT_ALLOWED = "The model {model!r} is not allowed in this organisation. Choose another one."


@dataclass(frozen=True, slots=True)
class StepPolicy:
    """Asked anew for every step, and answered from memory: a turn pays no statement for it."""

    options: TurnOptions
    current: CurrentSettings

    def model_of(self, chat: Chat) -> str | None:
        """None: the server's default."""
        return chat.model or self.current.of(chat.org_id).default_model

    def name_of(self, model: str | None) -> str | None:
        """What to write down of a model that was asked."""
        return model or self.options.default_model

    def system_of(self, chat: Chat) -> tuple[str, ...]:
        instructions = self.current.of(chat.org_id).instructions
        return (*self.options.system, instructions) if instructions else self.options.system

    def replies_max(self, chat: Chat) -> int:
        steps_max = self.current.of(chat.org_id).steps_max
        return min(self.options.replies_max, steps_max or self.options.replies_max)

    def judge(self, chat: Chat, call: ToolCall) -> Judgement:
        """Whether a call may run, by the strictest of all who have a say."""
        policies = {
            "the server's approval rules": self.options.approvals,
            "the organisation's approval rules": self.current.of(chat.org_id).approvals,
        }
        return strictest(
            policy.judge(call.tool, call.arguments, whose=whose)
            for whose, policy in policies.items()
        )

    def refusal(self, chat: Chat) -> TurnError | None:
        """A model that was allowed when the chat named it need not be allowed any more."""
        model = self.model_of(chat)
        if model is None or self.current.of(chat.org_id).allows(model):
            return None
        return TurnError(kind=ErrorKind.CONFIG, sentence=NOT_ALLOWED.format(model=model[:100]))
