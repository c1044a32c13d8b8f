"""The settings that admins change at run time. A new one is a declaration here and its consumer.

`CONTRIBUTING.md`, "Add a setting", has the steps; the reference is generated from this file.
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from holdfast.admin.registry import Registry, Setting, SettingScope
from holdfast.domain.approvals import (
    ALLOW_ALL,
    Policy,
    RuleAction,
    policy_from_json,
    policy_to_json,
)

ModelName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
ModelNames: TypeAlias = Annotated[tuple[ModelName, ...], Field(min_length=1, max_length=1_000)]
Percent: TypeAlias = Annotated[int, Field(ge=10, le=100, strict=True)]
DayCount: TypeAlias = Annotated[int, Field(ge=0, le=3_650, strict=True)]
StepCount: TypeAlias = Annotated[int, Field(ge=1, le=10_000, strict=True)]


def _model_setting(name: str, what_for: str) -> Setting[str | None]:
    """A model for one purpose: see `holdfast.admin.purposes`."""
    return Setting[str | None](
        name=name,
        scope=SettingScope.ORGANISATION,
        accepts=ModelName | None,
        default=None,
        if_unreadable=None,
        help=f"{what_for}; null, or if it is not available: the chat's model.",
    )


DEFAULT_MODEL: Final = Setting[str | None](
    name="default_model",
    scope=SettingScope.ORGANISATION,
    accepts=ModelName | None,
    default=None,
    if_unreadable=None,
    help="For messages that name none.",
)
EXPLORE_MODEL: Final = _model_setting("explore_model", "For helpers that search and read only")
TITLE_MODEL: Final = _model_setting("title_model", "For the titles of chats")
COMPACTION_MODEL: Final = _model_setting("compaction_model", "For summaries of long chats")
ADVISOR_MODEL: Final = _model_setting("advisor_model", "For advice that a model asks for")
ADVISOR_ENABLED: Final = Setting[bool](
    name="advisor_enabled",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[bool, Field(strict=True)],
    default=False,
    if_unreadable=False,
    help="Whether the model of a chat may ask another model for advice, as a tool.",
)
ADVISOR_USES_MAX: Final = Setting[int](
    name="advisor_uses_max",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[int, Field(ge=0, le=100, strict=True)],
    default=3,
    if_unreadable=1,
    help="Answers of the advisor in one turn of a chat; failures do not count. 0: as many as the"
    " turn has steps.",
)
ADVISOR_OUTPUT_MAX: Final = Setting[int](
    name="advisor_output_max",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[int, Field(ge=256, le=65_536, strict=True)],
    default=16_384,
    if_unreadable=16_384,
    help="Tokens that the advisor may write in one answer, with its thinking.",
)
ADVISOR_EFFORT: Final = Setting[str | None](
    name="advisor_effort",
    scope=SettingScope.ORGANISATION,
    accepts=Literal["low", "medium", "high"] | None,
    default=None,
    if_unreadable=None,
    help="How hard the advisor thinks; null: as the chat says.",
)
ALLOWED_MODELS: Final = Setting[tuple[str, ...] | None](
    name="allowed_models",
    scope=SettingScope.ORGANISATION,
    accepts=ModelNames | None,
    default=None,
    if_unreadable=(),
    help="Models that chats may use; null: every model of the server.",
    stops=True,
)
INSTRUCTIONS: Final = Setting[str](
    name="instructions",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[str, Field(max_length=100_000)],
    default="",
    if_unreadable="",
    help="What every model is told before the history.",
    # Instructions may be long, and the audit log is never shortened.
    audited=lambda instructions: {"instructions_chars": len(instructions)},
)
MAX_STEPS_PER_TURN: Final = Setting[int | None](
    name="max_steps_per_turn",
    scope=SettingScope.ORGANISATION,
    accepts=StepCount | None,
    default=None,
    if_unreadable=None,
    help="Never more than the server's `HOLDFAST_STEPS_MAX`.",
)
COMPACTION_PERCENT: Final = Setting[int](
    name="compaction_percent",
    scope=SettingScope.ORGANISATION,
    accepts=Percent,
    default=70,
    if_unreadable=70,
    help="Share of a model's context window, in percent. Between two steps, a chat whose prompt"
    " takes as much is compacted: a summary takes the place of its earlier messages in the prompt."
    " 100: only when a person asks.",
)
APPROVALS: Final = Setting[Policy](
    name="approvals",
    scope=SettingScope.ORGANISATION,
    accepts=Policy,
    default=ALLOW_ALL,
    # Rules of a version that knows more than this one: no call runs without approval.
    if_unreadable=Policy(default=RuleAction.ASK),
    help="Rules on top of the server's own `HOLDFAST_APPROVALS`: which tool calls run,"
    " wait for approval, or never run. Of two actions the stricter one counts.",
    encoder=policy_to_json,
    decoder=policy_from_json,
    audited=lambda policy: {
        "approval_rules": len(policy.rules),
        "approval_default": policy.default.value,
    },
    stops=True,
)
WEB_TOOLS_ENABLED: Final = Setting[bool](
    name="web_tools_enabled",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[bool, Field(strict=True)],
    default=True,
    if_unreadable=False,
    help="Whether the providers of models may search the web and read pages for chats.",
    stops=True,
)
OIDC_SIGN_UP_ENABLED: Final = Setting[bool](
    name="oidc_sign_up_enabled",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[bool, Field(strict=True)],
    default=True,
    if_unreadable=False,
    help="Whether a first login through a provider makes an account.",
)
API_KEY_DAYS_MAX: Final = Setting[int](
    name="api_key_days_max",
    scope=SettingScope.ORGANISATION,
    accepts=DayCount,
    default=365,
    if_unreadable=90,
    help="Days that a new API key may live at most. A key whose creator names no end lives 90 days,"
    " or this if it is less. 0: up to ten years, and keys without an end.",
)

SETTINGS: Final = Registry(
    (
        DEFAULT_MODEL,
        EXPLORE_MODEL,
        TITLE_MODEL,
        COMPACTION_MODEL,
        ADVISOR_MODEL,
        ADVISOR_ENABLED,
        ADVISOR_USES_MAX,
        ADVISOR_OUTPUT_MAX,
        ADVISOR_EFFORT,
        ALLOWED_MODELS,
        INSTRUCTIONS,
        MAX_STEPS_PER_TURN,
        COMPACTION_PERCENT,
        APPROVALS,
        OIDC_SIGN_UP_ENABLED,
        WEB_TOOLS_ENABLED,
        API_KEY_DAYS_MAX,
    )
)


def is_allowed(model: str, allowed: tuple[str, ...] | None) -> bool:
    """Whether a value of `ALLOWED_MODELS` permits the model."""
    return allowed is None or model in allowed
