"""The settings that admins change at run time. A new one is a declaration here and its consumer.

`CONTRIBUTING.md`, "Add a setting", has the steps; the reference is generated from this file.
"""

from typing import Annotated, Final, TypeAlias

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
StepCount: TypeAlias = Annotated[int, Field(ge=1, le=10_000, strict=True)]

DEFAULT_MODEL: Final = Setting[str | None](
    name="default_model",
    scope=SettingScope.ORGANISATION,
    accepts=ModelName | None,
    default=None,
    if_unreadable=None,
    help="For messages that name none.",
)
ALLOWED_MODELS: Final = Setting[tuple[str, ...] | None](
    name="allowed_models",
    scope=SettingScope.ORGANISATION,
    accepts=ModelNames | None,
    default=None,
    if_unreadable=(),
    help="Models that chats may use; null: every model of the server.",
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
)
WEB_TOOLS_ENABLED: Final = Setting[bool](
    name="web_tools_enabled",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[bool, Field(strict=True)],
    default=True,
    if_unreadable=False,
    help="Whether the providers of models may search the web and read pages for chats.",
)
OIDC_SIGN_UP_ENABLED: Final = Setting[bool](
    name="oidc_sign_up_enabled",
    scope=SettingScope.ORGANISATION,
    accepts=Annotated[bool, Field(strict=True)],
    default=True,
    if_unreadable=False,
    help="Whether a first login through a provider makes an account.",
)

SETTINGS: Final = Registry(
    (
        DEFAULT_MODEL,
        ALLOWED_MODELS,
        INSTRUCTIONS,
        MAX_STEPS_PER_TURN,
        APPROVALS,
        OIDC_SIGN_UP_ENABLED,
        WEB_TOOLS_ENABLED,
    )
)


def is_allowed(model: str, allowed: tuple[str, ...] | None) -> bool:
    """Whether a value of `ALLOWED_MODELS` permits the model."""
    return allowed is None or model in allowed
