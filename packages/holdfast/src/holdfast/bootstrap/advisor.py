"""Which chats have an advisor, and on which terms: one decision for the tool and its text."""

from holdfast.admin.current import CurrentSettings
from holdfast.admin.purposes import ModelPurpose, PurposeModels
from holdfast.admin.settings import (
    ADVISOR_EFFORT,
    ADVISOR_ENABLED,
    ADVISOR_OUTPUT_MAX,
    ADVISOR_USES_MAX,
)
from holdfast.domain.chat import Chat
from holdfast.ports.catalogue import AddedModels
from holdfast.ports.models import NO_ROUTE, Models
from holdfast.tools.advisor import AdvisorTerms, TermsOf


def advisor_terms(settings: CurrentSettings, added: AddedModels, models: Models) -> TermsOf:
    purposes = PurposeModels(settings, added, lambda model: models.route(model) is not NO_ROUTE)
    enabled = settings.current(ADVISOR_ENABLED)
    uses_max = settings.current(ADVISOR_USES_MAX)
    output_max = settings.current(ADVISOR_OUTPUT_MAX)
    effort = settings.current(ADVISOR_EFFORT)

    def terms_of(chat: Chat) -> AdvisorTerms | None:
        if chat.plan_mode or not enabled.of(chat.org_id):
            return None
        chosen = purposes.model_for(ModelPurpose.ADVISOR, chat.org_id, chat.model).model
        model = chosen or models.route(None).model
        if not model or purposes.unavailable(chat.org_id, model) is not None:
            return None
        return AdvisorTerms(
            model=model,
            effort=effort.of(chat.org_id),
            uses_max=uses_max.of(chat.org_id) or None,
            output_max=output_max.of(chat.org_id),
        )

    return terms_of
