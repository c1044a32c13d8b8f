"""Which model does what: the model that admins chose for a purpose, or else the chat's.

    explore, title, compaction, advisor    the setting of the organisation, else the chat's model
    general                                the chat's model
    the chat's model                       what its messages name, else the default

There is exactly one default: that of the settings, else that of the added models, else the
server's.
A choice that is not available is passed over, and the reason is a sentence for people. A model
that a message names is never passed over: the turn then fails in words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdfast.admin.current import CurrentSettings
from holdfast.admin.registry import Setting
from holdfast.admin.settings import (
    ADVISOR_MODEL,
    ALLOWED_MODELS,
    COMPACTION_MODEL,
    DEFAULT_MODEL,
    EXPLORE_MODEL,
    TITLE_MODEL,
    is_allowed,
)
from holdfast.domain.ids import OrgId
from holdfast.ports.catalogue import AddedModels

NOT_ALLOWED: Final = "The model {model!r} is not allowed in this organisation. Choose another one."
NOT_CONFIGURED: Final = "The model {model!r} is not configured here. Choose another one."


class ModelPurpose(StrEnum):
    GENERAL = "general"
    EXPLORE = "explore"
    TITLE = "title"
    COMPACTION = "compaction"
    ADVISOR = "advisor"


CHOSEN_BY: Final[Mapping[ModelPurpose, Setting[str | None]]] = {
    ModelPurpose.GENERAL: DEFAULT_MODEL,
    ModelPurpose.EXPLORE: EXPLORE_MODEL,
    ModelPurpose.TITLE: TITLE_MODEL,
    ModelPurpose.COMPACTION: COMPACTION_MODEL,
    ModelPurpose.ADVISOR: ADVISOR_MODEL,
}


@dataclass(frozen=True, slots=True)
class PurposeModel:
    """`model`: None: the server's default. `passed_over`: why the model that admins chose is not
    used; None: it is used, or admins chose none."""

    model: str | None
    passed_over: str | None = None


class PurposeModels:
    """One per process; every answer is from memory. `knows`: whether this process can ask the
    model; a process that only serves people may know no model."""

    def __init__(
        self,
        settings: CurrentSettings,
        added: AddedModels,
        knows: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._chosen = {purpose: settings.current(each) for purpose, each in CHOSEN_BY.items()}
        self._allowed = settings.current(ALLOWED_MODELS)
        self._added = added
        self._knows = knows

    def model_for(
        self, purpose: ModelPurpose, org_id: OrgId, chat_model: str | None = None
    ) -> PurposeModel:
        """`chat_model`: what the messages of the chat name; None: none."""
        chosen = self._chosen[purpose].of(org_id)
        if purpose is ModelPurpose.GENERAL:
            chosen = chat_model or chosen
        if chosen is None:
            return PurposeModel(chat_model or self.default_of(org_id))
        reason = self.unavailable(org_id, chosen)
        if reason is None or chosen == chat_model:
            return PurposeModel(chosen)
        return PurposeModel(chat_model or self.default_of(org_id), reason)

    def default_of(self, org_id: OrgId) -> str | None:
        """For messages that name no model. None: the server's default. A default that is disabled
        stays the default, and turns fail in words; one that is gone is passed over."""
        chosen = self._chosen[ModelPurpose.GENERAL].of(org_id)
        if chosen is not None and not self._is_gone(org_id, chosen):
            return chosen
        return self._added.default_of(org_id)

    def unavailable(self, org_id: OrgId, model: str) -> str | None:
        """Why the organisation cannot use the model now; None: it can."""
        if (refusal := self._added.refusal(org_id, model)) is not None:
            return refusal
        if not is_allowed(model, self._allowed.of(org_id)):
            return NOT_ALLOWED.format(model=model[:100])
        return None if self._knows(model) else NOT_CONFIGURED.format(model=model[:100])

    def _is_gone(self, org_id: OrgId, model: str) -> bool:
        return not self._knows(model) and self._added.refusal(org_id, model) is None
