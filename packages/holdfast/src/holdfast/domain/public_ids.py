"""Ids as clients see them: a prefix that names the type, and the UUID as 32 hexadecimal digits.

The database, the logs and the traces have the UUID. In SQL, `right(id, 32)::uuid` turns any of
these into one, and `'chat_' || replace(id::text, '-', '')` makes one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast
from uuid import UUID

from holdfast.domain.ids import ApiKeyId, ChatId, OrgId, SignInId, UserId
from holdfast.domain.workspaces import WorkspaceId

IdT = TypeVar("IdT", bound=UUID)

_DIGITS: Final = 32
_HEX: Final = re.compile(rf"[0-9a-f]{{{_DIGITS}}}")


class WrongId(ValueError):
    """The text is no id of this type. The message is a sentence for clients; it never repeats more
    of the text than a known prefix."""


@dataclass(frozen=True, slots=True)
class IdType(Generic[IdT]):
    prefix: str
    noun: str
    """With its article."""

    @property
    def name(self) -> str:
        return self.noun.partition(" ")[2]

    def encode(self, of: IdT) -> str:
        return self.prefix + of.hex

    def decode(self, text: str) -> IdT:
        """Raises `WrongId`. Only what `encode` gives is read: an object has one id."""
        digits = text.removeprefix(self.prefix)
        if len(digits) == len(text) or _HEX.fullmatch(digits) is None:
            raise WrongId(self._reason(text))
        return cast("IdT", UUID(hex=digits))

    def decode_or_uuid(self, text: str) -> IdT:
        """For an operator, who may have copied the UUID from a log. Raises `WrongId`."""
        try:
            return cast("IdT", UUID(text))
        except ValueError:
            return self.decode(text)

    def _reason(self, text: str) -> str:
        if text.startswith(self.prefix):
            return f"This is not the whole id of {self.noun}: copy it as the API returned it."
        for other in ID_TYPES:
            if text.startswith(other.prefix):
                return f"`{other.prefix}…` names {other.noun}, not {self.noun}."
        return f"The id of {self.noun} begins with `{self.prefix}`."


CHAT_ID: Final[IdType[ChatId]] = IdType("chat_", "a chat")
USER_ID: Final[IdType[UserId]] = IdType("user_", "a user")
API_KEY_ID: Final[IdType[ApiKeyId]] = IdType("key_", "an API key")
SESSION_ID: Final[IdType[SignInId]] = IdType("sess_", "a session")
WORKSPACE_ID: Final[IdType[WorkspaceId]] = IdType("wksp_", "a workspace")
ORG_ID: Final[IdType[OrgId]] = IdType("org_", "an organisation")

PROVIDER_ID: Final[IdType[UUID]] = IdType("prov_", "a provider")
MODEL_ID: Final[IdType[UUID]] = IdType("modl_", "a model")

ID_TYPES: Final[tuple[IdType[Any], ...]] = (
    *(CHAT_ID, USER_ID, API_KEY_ID, SESSION_ID, WORKSPACE_ID, ORG_ID),
    *(PROVIDER_ID, MODEL_ID),
)
TARGET_ID_TYPES: Final[Mapping[str, IdType[Any]]] = {
    "chat": CHAT_ID,
    "user": USER_ID,
    "api_key": API_KEY_ID,
    "session": SESSION_ID,
    "settings": ORG_ID,
    "provider": PROVIDER_ID,
    "model": MODEL_ID,
}
"""By what the audit log calls the type of a target or of a credential."""
