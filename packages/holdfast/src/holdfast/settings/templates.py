"""The templates of workspaces that an administrator offers."""

from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from holdfast.settings.models_file import file_bytes, parsed
from holdfast.settings.wrong import env_name

Argv: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]
_NAME: str = r"^[a-z0-9][a-z0-9-]{0,39}$"


class _TemplateSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(pattern=_NAME, description="Lower-case letters, digits and dashes.")
    description: str = Field(
        default="",
        max_length=1_000,
        description="Shown to users and to models, which choose a template by it.",
    )
    ttl_s: int = Field(
        default=0,
        ge=0,
        le=366 * 86_400,
        description="Seconds without activity in the chat after which its workspace is stopped;"
        " the files are kept. 0: never.",
    )
    env: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Environment variables of the started programs, in addition to `PATH` and"
        " `LANG`. The server's own environment is not passed on.",
    )


class LocalTemplateSettings(_TemplateSettings):
    """A folder on the server's machine, with its own agent."""

    kind: Literal["local"]
    sandbox: Literal["bubblewrap", "external"] = Field(
        default="bubblewrap",
        description="The sandbox around commands. `external`: none by Holdfast; the machine or"
        " container is the sandbox.",
    )
    arguments: tuple[str, ...] = Field(
        default=(),
        max_length=100,
        description="Further command-line arguments for `holdfast workspace-agent`.",
    )
    start_s: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Timeout of a start, in seconds: the agent must answer by then.",
    )


class CommandTemplateSettings(_TemplateSettings):
    """Programs of the administrator that start and stop an agent on any machine. Needs
    `HOLDFAST_WORKSPACE_SECRET`."""

    kind: Literal["command"]
    start: Argv = Field(
        description='Starts the agent, if it does not run, and prints `{"address": "http://…"}` as'
        " its last line."
    )
    stop: Argv = Field(description="Stops the agent, if it runs; the files are kept.")
    status: Argv = Field(
        description="Prints the same line as `start` if the agent runs; exits with 3 if it does"
        " not."
    )
    delete: Argv = Field(description="Removes the agent and the files, if they exist.")
    egress: Literal["unknown", "closed"] = Field(
        default="unknown",
        description="Whether the started machine or container limits where commands may connect"
        " to: an internal network with a proxy, a policy of the cluster. `closed` is your word for"
        " it; `holdfast doctor --server` warns where it is missing.",
    )
    start_s: float = Field(
        default=120.0,
        gt=0,
        le=3600,
        description="Timeout of a start, in seconds: the agent must answer by then.",
    )
    stop_s: float = Field(
        default=60.0, gt=0, le=3600, description="Timeout of `stop` and `delete`, in seconds."
    )


TemplateSettings: TypeAlias = Annotated[
    LocalTemplateSettings | CommandTemplateSettings, Field(discriminator="kind")
]


_TEMPLATES: Final[TypeAdapter[tuple[TemplateSettings, ...]]] = TypeAdapter(
    tuple[TemplateSettings, ...]
)


def templates_in(path: Path) -> tuple[TemplateSettings, ...]:
    name = env_name("templates_file")
    return parsed(_TEMPLATES, file_bytes(path, name), name)
