"""`propose_plan`: the plan of plan mode is shown to the user, and the turn ends."""

from typing import Final

from pydantic import Field

from holdfast.domain.chat import Chat
from holdfast.domain.parts import JsonObject, JsonValue
from holdfast.domain.plan_mode import ONLY_THE_PLAN, PLAN_BYTES_MAX, PROPOSE_PLAN, plan_path
from holdfast.ports.tools import Effect, Run, ToolOutput, looks
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.offer import Arguments, offer
from holdfast.tools.workspace.patches import judged_as, plain_path
from holdfast_agent.files.text import BOM
from holdfast_agent.wire import ReadFile

OTHER_FILE: Final = "Nothing was proposed. The plan of this chat is the file {path}."
TOO_LONG: Final = (
    "Nothing was proposed. {path} has {bytes:,} bytes; a plan has {limit:,} at most. Make it"
    " shorter."
)
EMPTY: Final = "Nothing was proposed. {path} is empty."
NO_TEXT: Final = (
    "Nothing was proposed. {path} has a line that is too long, or bytes that are no UTF-8."
)


def writes_plan(chat: Chat, tool: str, arguments: JsonObject) -> str | None:
    """In plan mode: words against a change of any other file than the plan."""
    return _refusal(chat, tool, (arguments.get("path"),))


def patches_plan(chat: Chat, tool: str, arguments: JsonObject) -> str | None:
    """The same for a patch, which may name several files."""
    return _refusal(chat, tool, [told.get("path") for _, told in judged_as(arguments)])


def _refusal(chat: Chat, tool: str, paths: "list[JsonValue] | tuple[JsonValue]") -> str | None:
    path = plan_path(chat.chat_id)
    if all(isinstance(each, str) and plain_path(each) == path for each in paths):
        return None
    return ONLY_THE_PLAN.format(tool=tool, path=path)


class Proposal(Arguments):
    path: str = Field(min_length=1, max_length=4096, description="The plan file of this chat.")


async def _propose(binding: Binding, run: Run, asked: Proposal) -> ToolOutput:
    path = plan_path(run.chat.chat_id)
    if plain_path(asked.path) != path:
        return ToolOutput(OTHER_FILE.format(path=path), failed=True)
    limit = min(PLAN_BYTES_MAX, run.output_bytes_max)  # the result holds the whole plan
    wanted = ReadFile(path=path, lines_max=100_000, links="refused")
    found = await binding.use(lambda agent: agent.read(wanted))
    if found.bytes_total > limit:
        words = TOO_LONG.format(path=path, bytes=found.bytes_total, limit=limit)
        return ToolOutput(words, failed=True)
    if not found.text.strip():
        return ToolOutput(EMPTY.format(path=path), failed=True)
    size = len(found.text.encode("utf-8", "surrogatepass"))
    if size not in (found.bytes_total, found.bytes_total - len(BOM)):
        return ToolOutput(NO_TEXT.format(path=path), failed=True)
    return ToolOutput(found.text)


PROPOSE: Final = offer(
    PROPOSE_PLAN,
    """Plan mode only: show the user the finished plan file and end the turn. The user reads it and
    says whether it is carried out.""",
    Proposal,
    _propose,
    effect=Effect.REPEATABLE,
    in_plan_mode=looks,
    plan_mode_only=True,
)
