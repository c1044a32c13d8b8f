"""The workspace itself: create, start, stop; and what it teaches. All may be asked for again: there
is one workspace per chat, and who asks a second time gets that one (L108)."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field, create_model

from holdfast.domain.workspaces import Workspace
from holdfast.ports.tools import Effect, Run, ToolOutput, looks
from holdfast.ports.workspaces import Template
from holdfast.tools.workspace.awareness import within, without
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.offer import Arguments, NoArguments, Offer, offer
from holdfast.tools.workspace.texts import shown
from holdfast_agent.wire import SkillText

START_DEADLINE_S: Final = 600.0
SKILL_PAGE_BYTES: Final = 16 * 1024
"""Below the limit of results for models with a small window."""
SKILL_WORDS_BYTES: Final = 250
"""Set aside for what is said around the lines and the files of a skill."""
LINE_CUT: Final = "… [the rest of this line does not fit: read the file with read_file]\n"
TTL_S_MAX: Final = 30 * 24 * 3600
STOPPED: Final = (
    "The workspace is stopped. Its files are kept, its processes have ended. Call start_workspace "
    "before using file or process tools."
)


class CreateArguments(Arguments):
    template: str = Field(
        default="", max_length=200, description="Kind of workspace; default: the first one."
    )
    ttl_s: int = Field(
        default=0,
        ge=0,
        le=TTL_S_MAX,
        description="Stop after this many seconds without use; default: the template's.",
    )


async def introduced(binding: Binding, workspace: Workspace) -> tuple[str, ...]:
    """What there is to know of a workspace that runs, as sections."""
    about = await binding.about()
    guidance = await binding.use(lambda agent: agent.guidance())
    return within(workspace, about, guidance, binding.workspaces.templates)


async def _create(binding: Binding, run: Run, asked: CreateArguments) -> ToolOutput:  # noqa: ARG001
    workspace = await binding.change(
        lambda: binding.workspaces.create(binding.chat, asked.template or None, ttl_s=asked.ttl_s)
    )
    return ToolOutput("\n\n".join(await introduced(binding, workspace)))


async def _start(binding: Binding, run: Run, asked: NoArguments) -> ToolOutput:  # noqa: ARG001
    workspace = await binding.change(lambda: binding.workspaces.start(binding.chat.chat_id))
    return ToolOutput("\n\n".join(await introduced(binding, workspace)))


async def _stop(binding: Binding, run: Run, asked: NoArguments) -> ToolOutput:  # noqa: ARG001
    if await binding.found() is None:
        return ToolOutput(without(None, binding.workspaces.templates), failed=True)
    await binding.change(lambda: binding.workspaces.stop(binding.chat.chat_id))
    return ToolOutput(STOPPED)


class ReadSkill(Arguments):
    name: str = Field(min_length=1, max_length=200, description="As listed under Skills.")
    offset: int = Field(default=1, ge=1, description="First line, to continue a long skill.")


async def _read_skill(binding: Binding, run: Run, asked: ReadSkill) -> ToolOutput:
    skill = await binding.use(lambda agent: agent.skill(asked.name))
    return ToolOutput(skill_page(skill, asked.offset, run.output_bytes_max))


def skill_page(skill: SkillText, offset: int, bytes_max: int = SKILL_PAGE_BYTES) -> str:
    """Whole lines from `offset` on, as many as fit, and how to go on."""
    lines = skill.text.splitlines(keepends=True)
    path, folder = shown(skill.path), shown(skill.folder)
    left = min(SKILL_PAGE_BYTES, bytes_max) - len(path.encode()) - 2 * len(folder.encode())
    left -= SKILL_WORDS_BYTES
    told: list[str] = []
    for line in lines[offset - 1 :]:
        size = len(line.encode())
        if size > left:
            if not told:
                # A line that is longer than a page is cut.
                told.append(line.encode()[: max(0, left)].decode(errors="ignore") + LINE_CUT)
            break
        told.append(line)
        left -= size
    end = offset - 1 + len(told)
    head = path
    if offset > 1 or end < len(lines):
        head += f" lines {offset}-{end} of {len(lines)}"
    text = f"{head}\n\n{''.join(told)}"
    if end < len(lines):
        return f"{text.rstrip()}\n\n[More follows: call read_skill with offset={end + 1}.]"
    directory = f"\n\nDirectory of this skill: {folder}" if skill.folder else ""
    return f"{text.rstrip()}{directory}{_beside(skill, folder, left)}"


def _beside(skill: SkillText, folder: str, bytes_max: int) -> str:
    """The files of a skill, as many as fit."""
    rows = [f"\n- {shown(path)}" for path in skill.files]
    told: list[str] = []
    for row in rows:
        bytes_max -= len(row.encode())
        if bytes_max < 0:
            break
        told.append(row)
    if len(told) < len(rows):
        left = len(rows) - len(told)
        told.append(f"\n[{left} more files: call list_files with the path of the directory.]")
    return f"\n\nFiles in {folder}:{''.join(told)}" if rows else ""


def places(templates: Sequence[Template]) -> tuple[Offer[Any], ...]:
    """With the templates that there are: a model should not have to guess a name."""
    names = [template.name for template in templates]
    known = f"One of: {', '.join(names)}; default {names[0]}." if names else "None is offered."
    described = create_model(
        "Create",
        __base__=CreateArguments,
        template=(
            str,
            Field(
                default="",
                max_length=200,
                description=known,
            ),
        ),
    )
    return (
        offer(
            "create_workspace",
            """Create this chat's workspace (a directory and a place to run commands), or start the
            existing one. Takes seconds to minutes. Only if the task needs files or commands.""",
            described,
            _create,
            effect=Effect.REPEATABLE,
            foreign=False,
            deadline_s=START_DEADLINE_S,
            in_plan_mode=looks,
        ),
        offer(
            "start_workspace",
            "Start this chat's stopped workspace, or wait until it has started.",
            NoArguments,
            _start,
            effect=Effect.REPEATABLE,
            foreign=False,
            deadline_s=START_DEADLINE_S,
            in_plan_mode=looks,
        ),
        offer(
            "stop_workspace",
            """Stop this chat's workspace: processes end, files are kept. Needed only to restart it;
            it stops by itself when unused.""",
            NoArguments,
            _stop,
            effect=Effect.REPEATABLE,
            foreign=False,
        ),
        offer(
            "read_skill",
            """Load a skill: its instructions and the list of its files. Call it before the task
            the skill describes.""",
            ReadSkill,
            _read_skill,
            effect=Effect.REPEATABLE,
            reads_only=True,
            in_plan_mode=looks,
        ),
    )
