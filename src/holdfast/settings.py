"""Every setting, read from the environment here and nowhere else.

`docs/reference/settings.md` is generated from this class.
"""

from pydantic import Field, PostgresDsn
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="HOLDFAST_", extra="ignore")

    database_url: PostgresDsn = Field(
        default=PostgresDsn("postgresql://127.0.0.1:5432/holdfast"),
        description="The PostgreSQL database that holds everything acknowledged.",
    )
    database_connections_max: int = Field(
        default=16,
        ge=2,
        le=200,
        description="Connections that one replica may hold; a turn needs one for milliseconds.",
    )
    database_command_timeout_s: float = Field(
        default=10.0,
        gt=0,
        description="Seconds after which a statement that was not answered counts as unavailable.",
    )
