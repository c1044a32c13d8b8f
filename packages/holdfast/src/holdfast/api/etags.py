"""ETags, and what `If-Match` asks for: a write that two may make happens only if it is made to what
the writer had seen. The comparison itself is in the statement that writes."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Header
from starlette.responses import Response

from holdfast.admin.current import OrgSettings
from holdfast.api.errors import PreconditionFailed
from holdfast.domain.accounts import User
from holdfast.domain.errors import ChangedMeanwhile
from holdfast.domain.ids import Version
from holdfast.domain.workspaces import Workspace
from holdfast.ports.catalogue import ModelRow, ProviderRow
from holdfast.ports.listing import Entry

TAGS_MAX: Final = 20
NUMBER_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ExpectedTags:
    """The numbers within the tags that a writer would accept, by their place in the tag."""

    tags: tuple[tuple[int, ...], ...]

    def at(self, place: int, places: int) -> frozenset[int]:
        """Tags of another kind of thing match nothing."""
        return frozenset(tag[place] for tag in self.tags if len(tag) == places)


def tag_of_chat(entry: Entry) -> str:
    """Changes with whatever `GET /chats/{id}` says; a write compares the number that it is about:
    history for edits, `listed` for title, pin and labels. So a turn that goes on does not disturb
    a rename."""
    numbers = (entry.version, entry.history_version, entry.listed, entry.read_seq)
    return _tag(*numbers)


def history_in(expected: ExpectedTags | None) -> frozenset[Version] | None:
    return None if expected is None else frozenset(map(Version, expected.at(1, 4)))


def listed_in(expected: ExpectedTags | None) -> frozenset[int] | None:
    return None if expected is None else expected.at(2, 4)


def tag_of_user(user: User) -> str:
    return _tag(user.version)


def tag_of_settings(settings: OrgSettings) -> str:
    return _tag(settings.version)


def tag_of_row(row: ProviderRow | ModelRow) -> str:
    return _tag(row.version)


def tag_of_workspace(workspace: Workspace) -> str:
    return _tag(workspace.version)


def only_number(expected: ExpectedTags | None) -> frozenset[int] | None:
    """Of a tag with one number: a user's, the settings' or a workspace's."""
    return None if expected is None else expected.at(0, 1)


def tagged(response: Response, tag: str) -> Response:
    response.headers["etag"] = tag
    return response


@asynccontextmanager
async def present(tag: Callable[[], Awaitable[str]]) -> AsyncGenerator[None]:
    """A caller that is refused is told what is there now."""
    try:
        yield
    except ChangedMeanwhile:
        raise PreconditionFailed(await tag()) from None


def parse(said: str) -> ExpectedTags | None:
    """What cannot be a tag of ours is one that nothing has. None: `*`, whatever is there."""
    given = [each.strip() for each in said.split(",")][:TAGS_MAX]
    if given == ["*"]:
        return None
    return ExpectedTags(tuple(_numbers(each) for each in given))


def _tag(*numbers: int) -> str:
    return f'"{".".join(map(str, numbers))}"'


def _numbers(tag: str) -> tuple[int, ...]:
    """A weak tag (`W/`) matches nothing: what is compared here must be the very same."""
    inside = tag[1:-1].split(".") if tag[:1] == tag[-1:] == '"' else []
    if not all(each.isascii() and each.isdigit() and len(each) <= 10 for each in inside):
        return ()
    numbers = tuple(map(int, inside))
    return numbers if all(number <= NUMBER_MAX for number in numbers) else ()


async def _expected(
    if_match: Annotated[
        str | None,
        Header(
            max_length=1_000,
            description="An `ETag` that was seen: if it is no longer the present one,"
            " `precondition_failed`, and nothing is changed.",
        ),
    ] = None,
) -> ExpectedTags | None:
    return None if if_match is None else parse(if_match)


IfMatch: TypeAlias = Annotated[ExpectedTags | None, Depends(_expected)]
