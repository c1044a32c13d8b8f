"""Which model does what: the choice of admins, the chat's model, why a choice is passed over."""

from typing import Any
from uuid import UUID

import pytest

from holdfast.admin.purposes import CHOSEN_BY, ModelPurpose, PurposeModel, PurposeModels
from holdfast.admin.registry import Setting
from holdfast.admin.settings import ALLOWED_MODELS, DEFAULT_MODEL
from holdfast.domain.ids import OrgId
from holdfast.ports.org_settings import Current, Fixed

ORG = OrgId(UUID(int=6))
BESIDE_TURNS = [purpose for purpose in ModelPurpose if purpose is not ModelPurpose.GENERAL]


class Given:
    """What admins have set, by the name of the setting."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def current(self, setting: Setting[Any]) -> Current[Any]:
        return Fixed(self.values.get(setting.name, setting.default))


class Added:
    def __init__(self, default: str | None = None, **refused: str) -> None:
        self.default = default
        self.refused = refused

    def default_of(self, org_id: OrgId) -> str | None:
        assert org_id == ORG
        return self.default

    def refusal(self, org_id: OrgId, model: str | None) -> str | None:
        assert org_id == ORG
        return self.refused.get(model or "")


def purposes(added: Added | None = None, **given: Any) -> PurposeModels:
    return PurposeModels(Given(**given), added or Added(), lambda name: name != "gone")


@pytest.mark.parametrize("purpose", BESIDE_TURNS)
def test_choice_of_admins_counts_before_the_model_of_the_chat(purpose: ModelPurpose) -> None:
    models = purposes(None, **{CHOSEN_BY[purpose].name: "small"})
    assert models.model_for(purpose, ORG, "large") == PurposeModel("small")
    assert purposes().model_for(purpose, ORG, "large") == PurposeModel("large")


def test_general_is_the_model_that_the_chat_names() -> None:
    models = purposes(Added("ours"), default_model="standard")
    assert models.model_for(ModelPurpose.GENERAL, ORG, "large") == PurposeModel("large")
    assert models.model_for(ModelPurpose.GENERAL, ORG) == PurposeModel("standard")
    assert purposes(Added("ours")).model_for(ModelPurpose.GENERAL, ORG) == PurposeModel("ours")
    assert purposes().model_for(ModelPurpose.GENERAL, ORG) == PurposeModel(None)


def test_message_that_names_a_model_gets_that_or_none() -> None:
    models = purposes(Added(large="An admin has disabled it."))
    assert models.model_for(ModelPurpose.GENERAL, ORG, "large") == PurposeModel("large")


@pytest.mark.parametrize(
    ("added", "given", "reason"),
    [
        (Added(small="Its provider has no key."), {}, "Its provider has no key."),
        (Added(), {"allowed_models": ("large",)}, "not allowed in this organisation"),
        (Added(), {"title_model": "gone"}, "not configured here"),
    ],
)
def test_choice_that_is_not_available_is_passed_over_with_the_reason(
    added: Added, given: dict[str, Any], reason: str
) -> None:
    models = purposes(added, **{"title_model": "small", **given})
    found = models.model_for(ModelPurpose.TITLE, ORG, "large")
    assert found.model == "large"
    assert found.passed_over is not None
    assert reason in found.passed_over


def test_default_that_is_gone_is_passed_over_and_a_disabled_one_is_not() -> None:
    assert purposes(Added("ours"), default_model="gone").default_of(ORG) == "ours"
    assert purposes(default_model="gone").default_of(ORG) is None
    disabled = purposes(Added("ours", gone="An admin has disabled it."), default_model="gone")
    assert disabled.default_of(ORG) == "gone"
    found = disabled.model_for(ModelPurpose.GENERAL, ORG)
    assert (found.model, found.passed_over) == ("gone", "An admin has disabled it.")


def test_every_purpose_has_a_setting() -> None:
    assert CHOSEN_BY.keys() == set(ModelPurpose)
    assert CHOSEN_BY[ModelPurpose.GENERAL] is DEFAULT_MODEL
    assert ALLOWED_MODELS not in CHOSEN_BY.values()
