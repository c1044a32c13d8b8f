"""Ids in requests and answers: what pydantic reads, and what OpenAPI says of them.

The encoding itself is in `domain/public_ids.py`. Ids are opaque to clients: OpenAPI promises the
prefix and the length, and nothing about the characters between.
"""

from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from holdfast.domain.public_ids import (
    API_KEY_ID,
    CHAT_ID,
    MODEL_ID,
    ORG_ID,
    PROVIDER_ID,
    SESSION_ID,
    USER_ID,
    WORKSPACE_ID,
    IdType,
    WrongId,
)

CHARS_MAX: Final = 64
WRONG_ID: Final = "wrong_id"
"""The type of the error, as pydantic lists it."""


class GivenAs:
    """Marks a UUID that a client gives as an id of this type."""

    def __init__(self, of: IdType[Any]) -> None:
        self._of = of

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            self._read, core_schema.str_schema(strict=True)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self._of.prefix}", "maxLength": CHARS_MAX}

    def _read(self, text: str) -> object:
        try:
            return self._of.decode(text)
        except WrongId as wrong:
            context = {"reason": str(wrong), "name": self._of.name}
            raise PydanticCustomError(WRONG_ID, "{reason}", context) from None


def _text(of: IdType[Any]) -> Any:  # noqa: ANN401 - what `Field` returns
    return Field(pattern=f"^{of.prefix}", max_length=CHARS_MAX)


ChatIdText: TypeAlias = Annotated[str, _text(CHAT_ID)]
UserIdText: TypeAlias = Annotated[str, _text(USER_ID)]
ApiKeyIdText: TypeAlias = Annotated[str, _text(API_KEY_ID)]
SessionIdText: TypeAlias = Annotated[str, _text(SESSION_ID)]
WorkspaceIdText: TypeAlias = Annotated[str, _text(WORKSPACE_ID)]
ProviderIdText: TypeAlias = Annotated[str, _text(PROVIDER_ID)]
ModelIdText: TypeAlias = Annotated[str, _text(MODEL_ID)]
OrgIdText: TypeAlias = Annotated[str, _text(ORG_ID)]
