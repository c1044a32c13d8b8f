"""The models that chats may name, and where each is served."""

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class AwsSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    access_key: str
    secret: SecretStr
    region: str
    token: SecretStr | None = None


_OWN: Final = "Instead of the setting of this name, for this model."


class ModelSettings(BaseModel):
    """A model that chats may name, and where it is served."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(min_length=1, description="Name of the model in Holdfast.")
    vendor: str = Field(description="Name of the vendor; a row of providers/endpoints.py.")
    model: str = Field(
        default="", description="The vendor's name of the model. Empty: the same as `name`."
    )
    base_url: str = Field(default="", description="Base URL of the API. Empty: the vendor's own.")
    api_key: SecretStr | None = Field(default=None, description="API key of the vendor.")
    aws: AwsSettings | None = Field(
        default=None, description="AWS credentials, for Bedrock, instead of a key."
    )
    values: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Values for the placeholders of the vendor's address, such as `region` or"
        " `resource`.",
    )
    fallback: tuple[str, ...] = Field(
        default=(),
        description="Names of other models of this list, in order. They answer while this one is"
        " overloaded, rate-limited, silent or unreachable.",
    )
    fallback_on_usage_limit: bool = Field(
        default=False,
        description="Whether a used-up account of the vendor also leads to `fallback`.",
    )
    first_part_s: float | None = Field(default=None, gt=0, description=_OWN)
    silence_s: float | None = Field(default=None, gt=0, description=_OWN)
    progress_s: float | None = Field(default=None, gt=0, description=_OWN)

    @property
    def model_name(self) -> str:
        return self.model or self.name

    def secrets(self) -> Iterator[SecretStr]:
        if self.api_key is not None:
            yield self.api_key
        if self.aws is not None:
            yield self.aws.secret
            if self.aws.token is not None:
                yield self.aws.token
