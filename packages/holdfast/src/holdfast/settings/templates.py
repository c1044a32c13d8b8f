"""The templates of workspaces that an administrator offers."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Argv: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]
_NAME: str = r"^[a-z0-9][a-z0-9-]{0,39}$"


class _TemplateSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(pattern=_NAME, description="Small letters, digits and dashes.")
    description: str = Field(
        default="", max_length=1_000, description="For people and for models, who choose by it."
    )
    ttl_s: int = Field(
        default=0,
        ge=0,
        le=366 * 86_400,
        description="Seconds without activity in the chat after which a workspace is stopped, its"
        " files kept. 0: never.",
    )
    env: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="The environment of what is started, beside `PATH` and `LANG`; nothing of the"
        " server's own is passed on.",
    )


class LocalTemplateSettings(_TemplateSettings):
    """A folder on this machine, and an agent beside it."""

    kind: Literal["local"]
    sandbox: Literal["bubblewrap", "external"] = Field(
        default="bubblewrap",
        description="What walls the commands in. `external`: nothing of ours; this machine is the"
        " wall.",
    )
    arguments: tuple[str, ...] = Field(
        default=(), max_length=100, description="Further ones for `holdfast agent`."
    )
    start_s: float = Field(
        default=30.0, gt=0, le=3600, description="Seconds until its agent must answer."
    )


class CommandTemplateSettings(_TemplateSettings):
    """Programs of the administrator's that start and stop an agent anywhere. Needs
    `HOLDFAST_WORKSPACE_SECRET`."""

    kind: Literal["command"]
    start: Argv = Field(
        description='Starts the agent, if it does not run, and prints `{"address": "http://…"}` as'
        " its last line."
    )
    stop: Argv = Field(description="Stops the agent, if it runs; the files stay.")
    status: Argv = Field(
        description="Prints the same line as `start` if the agent runs; ends with 3 if it does not."
    )
    delete: Argv = Field(description="Removes agent and files, if they are there.")
    start_s: float = Field(
        default=120.0, gt=0, le=3600, description="Seconds until its agent must answer."
    )
    stop_s: float = Field(
        default=60.0, gt=0, le=3600, description="Seconds that `stop` and `delete` may take."
    )


TemplateSettings: TypeAlias = Annotated[
    LocalTemplateSettings | CommandTemplateSettings, Field(discriminator="kind")
]
