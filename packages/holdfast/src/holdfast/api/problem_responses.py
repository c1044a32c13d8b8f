"""What refusals look like: problem documents (see problems.py, which has every code)."""

from pydantic import BaseModel, ConfigDict, Field

from holdfast.api.responses import left_out_if_none


class FieldError(BaseModel):
    """One invalid field of a request."""

    model_config = ConfigDict(extra="allow")

    in_: str = Field(alias="in", description="`body`, `query`, `path` or `header`.")
    pointer: str = Field(
        description="In a body, a JSON pointer (RFC 6901); else `/` and the parameter's name."
    )
    code: str = Field(description="Stable, for programs: `required`, `too_long`, …")
    detail: str = Field(description="What is wrong with the field, in English, for people.")


class Problem(BaseModel):
    """RFC 9457. `code` is stable; `title` and `detail` are for people and may change."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`urn:holdfast:problem:` and the code.")
    title: str = Field(
        description="What the code means; the same sentence for every problem with this code."
    )
    status: int = Field(description="The HTTP status code of the answer.")
    code: str = Field(
        description="Stable, for programs: one of the codes that the API reference lists."
    )
    detail: str | None = Field(
        description="What was wrong with this request, for people; null: the title says all."
    )
    retryable: bool = Field(description="The same request may succeed later.")
    request_id: str = Field(description="As in the header `X-Request-Id` and in the server's log.")
    errors: list[FieldError] | None = Field(
        default=None, description="With 422.", json_schema_extra=left_out_if_none
    )
