"""One declaration of a setting: everything that is derived from it knows it."""

import logging
from typing import Annotated, Any, TypeAlias

import pytest
from pydantic import Field, ValidationError

from holdfast.admin.registry import Registry, Setting, SettingScope, SettingValues, look_up
from holdfast.admin.settings import (
    ALLOWED_MODELS,
    API_KEY_DAYS_MAX,
    APPROVALS,
    DEFAULT_MODEL,
    INSTRUCTIONS,
    MAX_STEPS_PER_TURN,
    OIDC_SIGN_UP_ENABLED,
    SETTINGS,
    WEB_TOOLS_ENABLED,
)
from holdfast.api.account_responses import Settings, settings_shape
from holdfast.api.requests import WholeSettings, settings_body
from holdfast.domain.approvals import ALLOW_ALL, Policy, Rule, RuleAction, policy_to_json
from scripts.generate_docs import run_time_settings

ORG = SettingScope.ORGANISATION
RULES = Policy(rules=(Rule(tool="a", action=RuleAction.DENY),), default=RuleAction.ASK)

Colour: TypeAlias = Annotated[str, Field(max_length=9)]

COLOUR = Setting[str | None](
    name="colour",
    scope=SettingScope.USER,
    accepts=Colour | None,
    default=None,
    if_unreadable=None,
    help="Colour of the page.",
)
TOKEN = Setting[str](
    name="token",
    scope=ORG,
    accepts=Annotated[str, Field(max_length=9)],
    default="",
    if_unreadable="",
    help="Shown to no reader.",
    is_secret=True,
)
REGION = Setting[str](
    name="region",
    scope=SettingScope.DEPLOYMENT,
    accepts=str,
    default="here",
    if_unreadable="here",
    help="Where the server is.",
)
MORE = Registry((*SETTINGS, COLOUR, TOKEN, REGION))


def decoded(stored: dict[str, Any]) -> SettingValues:
    return SETTINGS.decode(ORG, stored)


def test_new_declaration_is_in_body_response_audit_row_and_reference() -> None:
    given = settings_body(MORE).model_validate({"colour": "blue", "max_steps_per_turn": 3})
    values = SettingValues({name: getattr(given, name) for name in type(given).model_fields})

    stored = MORE.encode(ORG, values)
    assert stored["colour"] == "blue"
    assert MORE.decode(ORG, stored) == values
    shown = MORE.show(ORG, values)
    assert shown["colour"] == "blue"
    settings_shape(MORE).model_validate(shown)
    assert MORE.audit_detail(ORG, values)["colour"] == "blue"
    assert (
        "| `colour` | user | `null` | string, length ≤ 9 | Colour of the page. |"
        in run_time_settings(MORE)
    )
    with pytest.raises(ValidationError):
        settings_body(MORE).model_validate({"colour": "ultramarine"})
    with pytest.raises(ValidationError):
        WholeSettings.model_validate({"colour": "blue"})


def test_name_that_is_not_declared_stays_unread() -> None:
    assert decoded({"colour": "blue", "max_steps_per_turn": 5}).values == {"max_steps_per_turn": 5}


def test_setting_is_declared_once() -> None:
    with pytest.raises(AssertionError):
        Registry((*SETTINGS, MAX_STEPS_PER_TURN))


@pytest.mark.parametrize(
    ("user", "organisation", "deployment", "value"),
    [
        ("blue", "red", "green", "blue"),
        (None, "red", "green", "red"),
        (None, None, "green", "green"),
        (None, None, None, None),
    ],
)
def test_user_counts_before_organisation_before_deployment(
    user: str | None, organisation: str | None, deployment: str | None, value: str | None
) -> None:
    layers = [SettingValues({"colour": each}) for each in (user, organisation, deployment)]
    assert look_up(COLOUR, *layers) == value
    assert look_up(COLOUR, SettingValues(), *layers) == value, "a layer may be empty"


def test_row_of_a_scope_sets_only_what_may_be_set_there() -> None:
    given = {"colour": "c", "max_steps_per_turn": 5, "region": "there"}
    assert MORE.decode(SettingScope.DEPLOYMENT, given).values.keys() == given.keys()
    assert MORE.decode(ORG, given).values.keys() == {"colour", "max_steps_per_turn"}
    assert MORE.decode(SettingScope.USER, given).values.keys() == {"colour"}
    assert "region" not in settings_body(MORE).model_fields


def test_secret_is_accepted_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    assert "token" in settings_body(MORE).model_fields
    values = SettingValues({"token": "hunter2"})
    shown = {**MORE.show(ORG, values), **MORE.audit_detail(ORG, values)}
    assert shown["token_is_set"] is True
    assert "hunter2" not in str(shown)
    settings_shape(MORE).model_validate(MORE.show(ORG, values))
    assert MORE.show(ORG, SettingValues())["token_is_set"] is False

    caplog.set_level(logging.WARNING)
    assert MORE.decode(ORG, {"token": ["hunter2"]}).of(TOKEN) == ""
    assert "token" in caplog.text
    assert "hunter2" not in caplog.text


# The settings of the server, as other versions of it may have stored them.


def test_row_of_an_older_version_gives_defaults() -> None:
    values = decoded({"max_steps_per_turn": 5})
    assert values.of(APPROVALS) == ALLOW_ALL
    assert values.of(OIDC_SIGN_UP_ENABLED) is True


def test_values_are_decoded_as_they_were_encoded() -> None:
    values = SettingValues(
        {
            "default_model": "sim",
            "explore_model": "sim",
            "title_model": "other",
            "compaction_model": "sim",
            "advisor_model": "other",
            "advisor_enabled": True,
            "advisor_uses_max": 5,
            "advisor_output_max": 2_000,
            "advisor_effort": "high",
            "allowed_models": ("sim", "other"),
            "instructions": "Be \0 brief.",
            "max_steps_per_turn": 7,
            "compaction_percent": 55,
            "approvals": RULES,
            "oidc_sign_up_enabled": False,
            "web_tools_enabled": False,
            "api_key_days_max": 30,
        }
    )
    stored = SETTINGS.encode(ORG, values)
    assert list(stored) == [setting.name for setting in SETTINGS]
    assert stored["allowed_models"] == ["sim", "other"]
    assert decoded(dict(stored)) == values


def test_unreadable_approval_rules_mean_that_every_call_needs_approval(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    newer = {"rules": [{"tool": "a", "verdict": "perhaps"}], "default": "allow"}
    values = decoded({"approvals": newer, "max_steps_per_turn": 5})
    assert values.of(APPROVALS) == Policy(default=RuleAction.ASK)
    assert values.of(MAX_STEPS_PER_TURN) == 5
    assert "stored approvals cannot be read" in caplog.text
    others: list[Any] = [None, [], {"rules": [{"tool": "a", "action": "ask", "arguments": []}]}]
    for unreadable in others:
        assert decoded({"approvals": unreadable}).of(APPROVALS) == Policy(default=RuleAction.ASK)


def test_other_unreadable_values_permit_nothing_more() -> None:
    values = decoded(
        {
            "default_model": {},
            "allowed_models": {"any": True},
            "instructions": 5,
            "max_steps_per_turn": "many",
            "oidc_sign_up_enabled": None,
            "web_tools_enabled": None,
            "api_key_days_max": "many",
        }
    )
    assert values.of(ALLOWED_MODELS) == ()
    assert values.of(OIDC_SIGN_UP_ENABLED) is False
    assert values.of(WEB_TOOLS_ENABLED) is False
    assert values.of(API_KEY_DAYS_MAX) == 90
    assert (values.of(DEFAULT_MODEL), values.of(MAX_STEPS_PER_TURN)) == (None, None)
    assert values.of(INSTRUCTIONS) == ""


def test_bounds_are_for_requests_and_not_for_rows() -> None:
    assert decoded({"max_steps_per_turn": 1_000_000}).of(MAX_STEPS_PER_TURN) == 1_000_000


def test_audit_detail_holds_no_instructions_and_no_rules() -> None:
    values = SettingValues({"instructions": "abc", "approvals": RULES, "allowed_models": ("m",)})
    assert SETTINGS.audit_detail(ORG, values) == {
        "default_model": None,
        "explore_model": None,
        "title_model": None,
        "compaction_model": None,
        "advisor_model": None,
        "advisor_enabled": False,
        "advisor_uses_max": 3,
        "advisor_output_max": 16_384,
        "advisor_effort": None,
        "allowed_models": ("m",),
        "instructions_chars": 3,
        "max_steps_per_turn": None,
        "compaction_percent": 70,
        "approval_rules": 1,
        "approval_default": "ask",
        "oidc_sign_up_enabled": True,
        "web_tools_enabled": True,
        "api_key_days_max": 365,
    }


def test_response_says_what_is_set() -> None:
    shown = SETTINGS.show(ORG, SettingValues({"approvals": RULES}))
    assert shown["approvals"] == policy_to_json(RULES)
    assert shown.keys() == Settings.model_fields.keys() == WholeSettings.model_fields.keys()


def test_every_setting_has_a_sentence_of_help() -> None:
    for setting in SETTINGS:
        assert setting.help.endswith("."), setting.name
