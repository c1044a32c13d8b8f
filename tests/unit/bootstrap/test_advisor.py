"""One decision says whether a chat has an advisor, and on which terms."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.bootstrap.advisor import advisor_terms
from holdfast.ports.catalogue import NoAddedModels
from holdfast.ports.models import Route
from holdfast.tools.advisor import AdvisorTerms
from tests.requirements import requirement
from tests.support.builders import a_chat
from tests.support.doubles import FixedSettings
from tests.support.scripted import ScriptedModels

_OTHER = ("allowed", "plan")


def terms_of(chat_model: str | None = None, /, **settings: Any) -> AdvisorTerms | None:
    models = ScriptedModels()
    models.routes = {name: Route(model=name or "sim") for name in (None, "sim", "oracle")}
    chosen = {f"advisor_{name}": value for name, value in settings.items() if name not in _OTHER}
    if "allowed" in settings:
        chosen["allowed_models"] = settings["allowed"]
    terms = advisor_terms(FixedSettings(chosen), NoAddedModels(), models)
    return terms(replace(a_chat(), model=chat_model, plan_mode=settings.get("plan", False)))


def test_it_is_off_unless_an_admin_turns_it_on() -> None:
    assert terms_of() is None
    assert terms_of(enabled=True) == AdvisorTerms(
        model="sim", effort=None, uses_max=3, output_max=16_384
    )


@requirement("L112")
def test_a_chat_in_plan_mode_has_none() -> None:
    assert terms_of(enabled=True, plan=True) is None


def test_the_admins_choose_model_effort_and_limits() -> None:
    assert terms_of(
        "sim", enabled=True, model="oracle", effort="high", uses_max=0, output_max=999
    ) == AdvisorTerms(model="oracle", effort="high", uses_max=None, output_max=999)


def test_a_model_that_is_gone_is_passed_over_for_that_of_the_chat() -> None:
    terms = terms_of("oracle", enabled=True, model="gone")
    assert terms is not None
    assert terms.model == "oracle"


@pytest.mark.parametrize("chat_model", ["gone", "sim"])
def test_without_a_usable_model_there_is_none(chat_model: str) -> None:
    assert terms_of(chat_model, enabled=True, allowed=("oracle",)) is None
