"""File tools write nothing that git would run or obey outside (L167)."""

import os
from collections.abc import Callable
from typing import Any, Final

import pytest

from holdfast_agent.files import gitplaces, writing
from holdfast_agent.wire import Change, EditFiles, FileEdit, WriteFile
from tests.requirements import requirement
from tests.support.agent_files import Client, Place, serving

FSMONITOR: Final = "[core]\n\tfsmonitor = ./run-me\n"
PLACES: Final = (
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/new/er/file",
    "./.git/../.git/config",
    "inner/.git/config",
    "inner/.git",
    ".GIT/config",
    ".g\u200cit/hooks/post-checkout",
    "git~1/config",
    "link/config",
    "link/hooks/post-merge",
    "bare.git/config",
    "bare.git/hooks/update",
    "tree/.git",
)


def repositories(place: Place) -> None:
    place.write(".git/config", "[core]\n")
    place.write(".git/HEAD", "ref: refs/heads/main\n")
    place.write("inner/README", "inner\n")
    place.write("tree/README", "tree\n")
    os.symlink(".git", place.root / "link")
    for name in ("HEAD", "config", "objects/x"):
        place.write(f"bare.git/{name}", "")


def everything(place: Place) -> dict[str, bytes]:
    return {
        str(path.relative_to(place.root)): path.read_bytes() if path.is_file() else b""
        for path in place.root.rglob("*")
    }


async def write(files: Client, path: str) -> tuple[int, Any]:
    return await files.ask("write", WriteFile(path=path, text=FSMONITOR))


async def add(files: Client, path: str) -> tuple[int, Any]:
    return await files.ask(
        "edit", EditFiles(files=(FileEdit(path=path, how="add", text=FSMONITOR),))
    )


async def move(files: Client, path: str) -> tuple[int, Any]:
    return await files.ask("edit", EditFiles(files=(FileEdit(path="a.txt", move_to=path),)))


@requirement("L167")
@pytest.mark.parametrize("do", [write, add, move])
@pytest.mark.parametrize("path", PLACES)
async def test_what_git_obeys_is_not_written(
    place: Place, files: Client, do: Callable[[Client, str], Any], path: str
) -> None:
    repositories(place)
    place.write("a.txt", FSMONITOR)
    before = everything(place)

    status, answer = await do(files, path)

    assert (status, answer["code"]) == (403, "outside"), answer
    assert everything(place) == before


@requirement("L167")
async def test_the_configuration_is_neither_edited_nor_deleted(place: Place, files: Client) -> None:
    repositories(place)
    before = everything(place)
    change = Change(old="[core]\n", new=FSMONITOR)
    for asked in (
        FileEdit(path=".git/config", changes=(change,)),
        FileEdit(path="link/config", changes=(change,)),
        FileEdit(path=".git/config", how="delete"),
        FileEdit(path=".git/config", move_to="config"),
    ):
        status, answer = await files.ask("edit", EditFiles(files=(asked,)))
        assert (status, answer["code"]) == (403, "outside"), answer

    assert everything(place) == before


async def test_no_head_makes_a_folder_a_repository(place: Place, files: Client) -> None:
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("head", "a" * 40)):
        status, _ = await files.ask("write", WriteFile(path=f"x/{name}", text=text))
        assert status == 403
    place.write("y.txt", "ref: refs/heads/main\n")
    asked = EditFiles(files=(FileEdit(path="y.txt", move_to="x/HEAD"),))
    assert (await files.ask("edit", asked))[0] == 403
    assert (await files.ask("write", WriteFile(path="x/HEAD", text="# Head\n")))[0] == 200


@pytest.mark.parametrize("path", [".gitignore", ".github/workflows/ci.yml", "a.git/x", "git/hooks"])
async def test_files_that_are_only_called_like_it_are_written(
    place: Place, files: Client, path: str
) -> None:
    repositories(place)

    status, _ = await write(files, path)

    assert status == 200


async def test_the_operator_may_open_it(place: Place) -> None:
    repositories(place)
    async with serving(place, guards_git=False) as files:
        status, _ = await write(files, ".git/config")

    assert status == 200
    assert (place.root / ".git/config").read_text() == FSMONITOR


def _nothing(*_: object) -> None:
    return None


def _nowhere(*_: object) -> bool:
    return False


def _with_case(name: str) -> bool:
    return name == ".git"


MUTANTS: Final[dict[str, tuple[Any, str, Any, str]]] = {
    "the predicate is not asked": (
        writing, "refuse_git", _nothing, ".git/hooks/pre-commit",
    ),
    "names are compared with case": (
        gitplaces, "is_git_name", _with_case, ".GIT/config",
    ),
    "only names are looked at": (
        gitplaces, "_is_repository", _nowhere, "bare.git/config",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
async def test_without_a_part_of_the_predicate_it_is_written(
    place: Place, files: Client, mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repositories(place)
    where, name, instead, path = MUTANTS[mutant]
    monkeypatch.setattr(where, name, instead)

    status, _ = await write(files, path)

    assert status == 200
