"""What goes for a step of a turn: as the server was started, and as the admins have set it."""

from collections.abc import Sequence

from holdfast.admin.current import CurrentSettings
from holdfast.admin.settings import (
    ALLOWED_MODELS,
    APPROVALS,
    DEFAULT_MODEL,
    INSTRUCTIONS,
    MAX_STEPS_PER_TURN,
    WEB_TOOLS_ENABLED,
    is_allowed,
)
from holdfast.domain.approvals import Judgement, strictest
from holdfast.domain.chat import Chat, ErrorKind, TurnError
from holdfast.domain.parts import ToolCall
from holdfast.domain.provider_tools import WEB_TOOLS, ProviderToolSpec
from holdfast.ports.catalogue import AddedModels, NoAddedModels
from holdfast.ports.models import NO_ROUTE, Route
from holdfast.ports.tools import ToolSpec
from holdfast.turn.options import TurnOptions
from holdfast.turn.prefix import Prefix

NOT_ALLOWED = "The model {model!r} is not allowed in this organisation. Choose another one."


class StepPolicy:
    """Asked anew for every step, and answered from memory: a turn pays no statement for it."""

    def __init__(
        self,
        options: TurnOptions,
        settings: CurrentSettings,
        added: AddedModels | None = None,
    ) -> None:
        self.options = options
        self._added = added or NoAddedModels()
        self._default_model = settings.current(DEFAULT_MODEL)
        self._allowed_models = settings.current(ALLOWED_MODELS)
        self._instructions = settings.current(INSTRUCTIONS)
        self._web_enabled = settings.current(WEB_TOOLS_ENABLED)
        self._steps_max = settings.current(MAX_STEPS_PER_TURN)
        self._approvals = settings.current(APPROVALS)

    def model_of(self, chat: Chat) -> str | None:
        """None: the server's default."""
        return (
            chat.model or self._default_model.of(chat.org_id) or self._added.default_of(chat.org_id)
        )

    def prefix_of(
        self,
        chat: Chat,
        toolbox: Sequence[str],
        specs: Sequence[ToolSpec],
        route: Route = NO_ROUTE,
    ) -> Prefix:
        """What a prompt would begin with now. `toolbox`: its sections. `route`: of the chat's
        model."""
        instructions, options = self._instructions.of(chat.org_id), self.options
        return Prefix.of(
            options.system,
            instructions,
            toolbox,
            specs,
            model=options.system_by_wire.get(route.wire, ""),
            provider_tools=self.provider_tools_of(chat, route),
        )

    def provider_tools_of(self, chat: Chat, route: Route) -> tuple[ProviderToolSpec, ...]:
        """What the provider may run for the chat: those of the web only if its newest message that
        says so wants them, or, where none says so, if the model searches without being asked."""
        web = route.web if chat.web is None else chat.web
        web = web and self._web_enabled.of(chat.org_id)
        return tuple(spec for spec in route.provider_tools if web or spec.name not in WEB_TOOLS)

    def replies_max(self, chat: Chat) -> int:
        steps_max = self._steps_max.of(chat.org_id)
        return min(self.options.replies_max, steps_max or self.options.replies_max)

    def judge(self, chat: Chat, call: ToolCall) -> Judgement:
        """Whether a call may run, by the strictest of all who have a say."""
        policies = {
            "the server's approval rules": self.options.approvals,
            "the organisation's approval rules": self._approvals.of(chat.org_id),
        }
        return strictest(
            policy.judge(call.tool, call.arguments, whose=whose)
            for whose, policy in policies.items()
        )

    def allows(self, chat: Chat, model: str) -> bool:
        allowed = is_allowed(model, self._allowed_models.of(chat.org_id))
        return allowed and self._added.refusal(chat.org_id, model) is None

    def refusal(self, chat: Chat) -> TurnError | None:
        """A model that was allowed when the chat named it need not be allowed any more."""
        model = self.model_of(chat)
        said = self._added.refusal(chat.org_id, model)
        if said is not None:
            return TurnError(kind=ErrorKind.CONFIG, sentence=said)
        if model is None or self.allows(chat, model):
            return None
        return TurnError(kind=ErrorKind.CONFIG, sentence=NOT_ALLOWED.format(model=model[:100]))
