"""What the admins of an organisation may change while the server runs."""

from dataclasses import dataclass
from typing import Final

from holdfast.domain.approvals import ALLOW_ALL, Policy

INSTRUCTIONS_CHARS_MAX: Final = 100_000
STEPS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OrgSettings:
    """None: as the server's own settings say."""

    default_model: str | None = None
    """For messages that name none, in chats that never named one."""
    allowed_models: tuple[str, ...] | None = None
    instructions: str = ""
    """What every model is told before the history, after what the server tells it."""
    steps_max: int | None = None
    """Never more than the server allows."""
    approvals: Policy = ALLOW_ALL
    """On top of the server's: of two verdicts the stricter one counts."""
    oidc_sign_up: bool = True
    """Whether a first login through a provider may make an account."""

    def allows(self, model: str) -> bool:
        return self.allowed_models is None or model in self.allowed_models


UNSET: Final = OrgSettings()
