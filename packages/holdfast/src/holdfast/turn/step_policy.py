"""What goes for a step of a turn: as the server was started, and as the admins have set it."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from holdfast.admin.current import CurrentSettings
from holdfast.admin.purposes import NOT_ALLOWED, ModelPurpose, PurposeModel, PurposeModels
from holdfast.admin.settings import (
    ADVISOR_USES_MAX,
    ALLOWED_MODELS,
    APPROVALS,
    COMPACTION_PERCENT,
    INSTRUCTIONS,
    MAX_STEPS_PER_TURN,
    WEB_TOOLS_ENABLED,
    is_allowed,
)
from holdfast.domain.approvals import Judgement, strictest
from holdfast.domain.chat import Chat, ErrorKind, TurnError
from holdfast.domain.parts import JsonObject, ToolCall
from holdfast.domain.plan_mode import PROPOSE_PLAN, guidance
from holdfast.domain.provider_tools import WEB_TOOLS, ProviderToolSpec
from holdfast.ports.catalogue import AddedModels, NoAddedModels
from holdfast.ports.models import NO_ROUTE, Route
from holdfast.ports.tools import ToolSpec
from holdfast.turn.options import TurnOptions
from holdfast.turn.prefix import Prefix

FOREIGN_TEXT: Final = (
    "the rule about foreign text: this call may send data out, and the chat has read text that"
    " neither its user nor its operator wrote ({sources})"
)
SOURCES_TOLD_MAX: Final = 5


class StepPolicy:
    """Asked anew for every step, and answered from memory: a turn pays no statement for it."""

    def __init__(
        self,
        options: TurnOptions,
        settings: CurrentSettings,
        added: AddedModels | None = None,
        knows: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`knows`: whether this process can ask the model."""
        self.options = options
        self._added = added or NoAddedModels()
        self._purposes = PurposeModels(settings, self._added, knows)
        self._allowed_models = settings.current(ALLOWED_MODELS)
        self._instructions = settings.current(INSTRUCTIONS)
        self._web_enabled = settings.current(WEB_TOOLS_ENABLED)
        self._steps_max = settings.current(MAX_STEPS_PER_TURN)
        self._compaction_percent = settings.current(COMPACTION_PERCENT)
        self._approvals = settings.current(APPROVALS)
        self._advice_max = settings.current(ADVISOR_USES_MAX)

    def model_of(self, chat: Chat) -> str | None:
        """None: the server's default."""
        return chat.model or self._purposes.default_of(chat.org_id)

    def model_for(self, purpose: ModelPurpose, chat: Chat) -> PurposeModel:
        """The model that does something for the chat beside its turns."""
        return self._purposes.model_for(purpose, chat.org_id, chat.model)

    def summary_model_of(self, chat: Chat) -> str | None:
        """Which model summarises the chat; None: the server's default."""
        return self.model_for(ModelPurpose.COMPACTION, chat).model

    def compaction_percent(self, chat: Chat) -> int:
        """From which share of the context window on a chat is compacted; 100: never by itself."""
        return self._compaction_percent.of(chat.org_id)

    def prefix_of(
        self,
        chat: Chat,
        toolbox: Sequence[str],
        specs: Sequence[ToolSpec],
        route: Route = NO_ROUTE,
    ) -> Prefix:
        """What a prompt would begin with now. `toolbox`: its sections. `route`: of the chat's
        model, which gets the tool that it edits files with best."""
        instructions, options = self._instructions.of(chat.org_id), self.options
        if chat.plan_mode:
            has_file = any(spec.name == PROPOSE_PLAN for spec in specs)
            toolbox = (*toolbox, guidance(chat.chat_id, has_file=has_file))
        offered = [spec for spec in specs if spec.edits_as in (None, route.edit_tool)]
        return Prefix.of(
            options.system,
            instructions,
            toolbox,
            offered,
            model=options.system_by_wire.get(route.wire, ""),
            provider_tools=self.provider_tools_of(chat, route),
        )

    def provider_tools_of(self, chat: Chat, route: Route) -> tuple[ProviderToolSpec, ...]:
        """What the provider may run for the chat: those of the web only if its newest message that
        says so wants them, or, where none says so, if the model searches without being asked. In
        plan mode none."""
        if chat.plan_mode:
            return ()  # the provider obeys its list, and no rule of ours
        web = route.web if chat.web is None else chat.web
        web = web and self._web_enabled.of(chat.org_id)
        return tuple(spec for spec in route.provider_tools if web or spec.name not in WEB_TOOLS)

    def replies_max(self, chat: Chat) -> int:
        steps_max = self._steps_max.of(chat.org_id)
        return min(self.options.replies_max, steps_max or self.options.replies_max)

    def advice_max(self, chat: Chat) -> int | None:
        """How often the advisor may be asked since a person last spoke; None: without a bound."""
        return self._advice_max.of(chat.org_id) or None

    def judge(
        self, chat: Chat, call: ToolCall, spec: ToolSpec, sources: Collection[str] = ()
    ) -> Judgement:
        """Whether a call may run, by the strictest of all who have a say. `sources`: of the foreign
        text in the chat, if the call may send data out."""
        policies = {
            "the server's approval rules": self.options.approvals,
            "the organisation's approval rules": self._approvals.of(chat.org_id),
        }
        if spec.judged_as is None:
            seen: Sequence[tuple[str, JsonObject]] = [(call.tool, call.arguments)]
        else:
            seen = spec.judged_as(call.arguments)
        judgements = [
            policy.judge(call.tool, arguments, whose=whose, also=also)
            for whose, policy in policies.items()
            for also, arguments in seen
        ]
        if sources:
            words = FOREIGN_TEXT.format(sources=", ".join(sorted(sources)[:SOURCES_TOLD_MAX]))
            judgements.append(Judgement(self.options.foreign_text, words))
        return strictest(judgements)

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
