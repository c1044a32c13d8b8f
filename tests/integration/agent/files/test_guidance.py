"""Instruction files and skills are told; hostile ones do no harm."""

import os
from typing import Any

import pytest

from holdfast_agent.files import guidance, projects
from tests.support.agent_files import SECRET, Client, Place

EMPTY: dict[str, Any] = {
    "instructions": [],
    "nested": [],
    "skills": [],
    "skills_left_out": 0,
    "branch": None,
}


def skill(name: str, description: str = "What it is for.", body: str = "Do it.\n") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}"


async def test_instruction_files_and_skills_are_told(place: Place, files: Client) -> None:
    place.write("AGENTS.md", "Use tabs.\n")
    os.symlink("AGENTS.md", place.root / "CLAUDE.md")
    place.write(".holdfast/instructions.md", "Be kind.\n")
    place.write(".holdfast/skills/rel/SKILL.md", skill("release", ">-\n  How to\n  release."))
    place.write(".holdfast/skills/rel/steps/one.sh", "")
    place.write(".agents/skills/plain/SKILL.md", "No front matter.\n")

    _, told = await files.get("/v1/guidance")
    _, text = await files.get("/v1/skills/release")

    assert told["instructions"] == [
        {"path": "AGENTS.md", "text": "Use tabs.\n", "bytes": 10},
        {"path": ".holdfast/instructions.md", "text": "Be kind.\n", "bytes": 9},
    ]
    assert told["skills"] == [
        {"name": "release", "description": "How to release.",
         "path": ".holdfast/skills/rel/SKILL.md"},
        {"name": "plain", "description": "", "path": ".agents/skills/plain/SKILL.md"},
    ]  # fmt: skip
    assert text["text"] == "Do it.\n"
    assert text["files"] == [".holdfast/skills/rel/steps/one.sh"]
    assert text["folder"] == ".holdfast/skills/rel"


async def test_an_empty_workspace_says_nothing(files: Client) -> None:
    _, told = await files.get("/v1/guidance")
    status, missing = await files.get("/v1/skills/release")

    assert told == EMPTY
    assert (status, missing["code"]) == (404, "not_found")


async def test_what_leads_out_is_not_told(place: Place, files: Client) -> None:
    os.symlink("../outside/secret.txt", place.root / "AGENTS.md")
    os.link(place.outside / "secret.txt", place.root / "CLAUDE.md")
    (place.outside / "SKILL.md").write_text(skill("stolen", SECRET))
    (place.root / ".agents").mkdir()
    os.symlink("../../outside", place.root / ".agents" / "skills")
    (place.root / ".holdfast" / "skills").mkdir(parents=True)
    os.symlink("../../../outside", place.root / ".holdfast" / "skills" / "stolen")
    os.mkfifo(place.root / ".holdfast" / "instructions.md")

    _, told = await files.get("/v1/guidance")
    status, _ = await files.get("/v1/skills/stolen")

    assert told == EMPTY
    assert status == 404


async def test_what_is_huge_is_cut_and_said_to_be(place: Place, files: Client) -> None:
    place.write("AGENTS.md", "é" * 100_000)
    place.write(".agents/skills/big/SKILL.md", skill("big", "d" * 5000, "x" * 500_000))

    _, told = await files.get("/v1/guidance")
    _, text = await files.get("/v1/skills/big")

    instruction = told["instructions"][0]["text"]
    assert len(instruction.encode()) < projects.INSTRUCTION_BYTES_MAX + 100
    assert instruction.rstrip().endswith("more bytes in `AGENTS.md`]")
    assert "\ufffd" not in instruction
    assert len(told["skills"][0]["description"]) == guidance.DESCRIPTION_CHARS_MAX + 1
    assert len(text["text"]) < guidance.SKILL_BYTES_MAX + 200


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"---\nname: [1, 2]\n---\nx", ["folder"]),
        (b"---\nname: !!python/object/apply:os.system [touch ran]\n---\nx", ["folder"]),
        (b"---\n" + b"[" * 4000 + b"\n---\nx", ["folder"]),
        (b"---\na: &a [x]\nb: &b [*a, *a]\nname: ok\n---\nx", ["ok"]),
        (b"---\nname: ../../etc\n---\nx", []),
        (b'---\nname: "\\e[2J"\n---\nx', []),
        (b"---\nname: 2024-01-01\n---\nx", ["2024-01-01"]),
        (b"---\nname: caf\xe9\n---\nx", []),
        (b"\xef\xbb\xbf---\r\nname: crlf\r\n---\r\nx", ["crlf"]),
        (b"---\nnever ended", ["folder"]),
        (b"\0binary", []),
        (b"---\nname: " + b"n" * 100 + b"\n---\n", []),
        (b"---\n- a list\n---\n", ["folder"]),
    ],
)
def test_odd_skills_are_passed_over_or_go_by_their_folder(
    place: Place, content: bytes, names: list[str]
) -> None:
    place.write(".agents/skills/folder/SKILL.md", content)

    told = guidance.found(place.beneath)

    assert [each.name for each in told.skills] == names
    assert not (place.root / "ran").exists()


def test_of_two_skills_with_one_name_the_first_one_counts(place: Place) -> None:
    place.write(".agents/skills/a/SKILL.md", skill("same", "third"))
    place.write(".holdfast/skills/b/SKILL.md", skill("same", "second"))
    place.write(".holdfast/skills/a/SKILL.md", skill("same", "first"))

    told = guidance.found(place.beneath)

    assert [(each.name, each.description) for each in told.skills] == [("same", "first")]


def test_there_is_a_limit_of_skills(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guidance, "SKILLS_MAX", 3)
    for number in range(5):
        place.write(f".agents/skills/s{number}/SKILL.md", skill(f"s{number}"))

    found = guidance.found(place.beneath)
    assert len(found.skills) == 3
    assert found.skills_left_out == 2
    assert guidance.skill(place.beneath, "s4").name == "s4", "it can be read all the same"


def test_skills_of_other_programs_are_found_and_unknown_keys_are_accepted(place: Place) -> None:
    for number, folder in enumerate(guidance.SKILL_FOLDERS):
        front = f"---\nname: s{number}\nlicense: MIT\nallowed-tools: [a, b]\n---\nx"
        place.write(f"{folder}/any/SKILL.md", front)

    told = guidance.found(place.beneath)

    assert [each.name for each in told.skills] == ["s0", "s1", "s2", "s3", "s4"]
    assert guidance.SKILL_FOLDERS[2:] == (".claude/skills", ".codex/skills", ".github/skills")


def instructions(place: Place) -> dict[str, str]:
    return {each.path: each.text for each in guidance.found(place.beneath).instructions}


def test_import_in_claude_md_is_resolved_once(place: Place) -> None:
    place.write("CLAUDE.md", "Read on.\n@docs/rules.md\nmail@example.org and `@x`\n@missing.md\n")
    place.write("docs/rules.md", "Use tabs.\n@more.md\n")
    place.write("docs/more.md", "not told")

    assert instructions(place) == {
        "CLAUDE.md": "Read on.\nUse tabs.\n@more.md\nmail@example.org and `@x`\n@missing.md\n"
    }


def test_claude_md_that_only_imports_agents_md_is_told_once(place: Place) -> None:
    place.write("AGENTS.md", "Use tabs.\n")
    place.write("CLAUDE.md", "@AGENTS.md\n")
    assert instructions(place) == {"AGENTS.md": "Use tabs.\n"}
    place.write("CLAUDE.md", "Use tabs.\n")
    assert instructions(place) == {"AGENTS.md": "Use tabs.\n"}, "a copy"
    place.write("CLAUDE.md", "Use spaces.\n")
    assert len(instructions(place)) == 2


@pytest.mark.parametrize(
    "written", ["../outside/secret.txt", "a/../../outside/secret.txt", "link.txt", "{absolute}"]
)
def test_import_does_not_leave_the_workspace(place: Place, written: str) -> None:
    os.symlink("../outside/secret.txt", place.root / "link.txt")
    path = written.format(absolute=place.outside / "secret.txt")
    place.write("CLAUDE.md", f"x\n@{path}\n")
    assert instructions(place) == {"CLAUDE.md": f"x\n@{path}\n"}


def test_repositories_one_level_below_are_projects_and_other_files_are_named(place: Place) -> None:
    place.write("AGENTS.md", "root")
    place.write("api/.git/HEAD", "ref: refs/heads/main\n")
    place.write("api/AGENTS.md", "api")
    place.write("api/CLAUDE.md", "@../AGENTS.md\n@rules.md")
    place.write("api/rules.md", "rules")
    place.write("api/inner/AGENTS.md", "inner")
    place.write("plain/deep/AGENTS.md", "deep one")
    place.write("node_modules/x/AGENTS.md", "never")
    os.symlink("plain", place.root / "again")

    found = guidance.found(place.beneath)

    assert instructions(place) == {"AGENTS.md": "root", "api/AGENTS.md": "api",
                                   "api/CLAUDE.md": "\nrules"}  # fmt: skip
    assert [(each.path, each.bytes) for each in found.nested] == [
        ("api/inner/AGENTS.md", 5),
        ("plain/deep/AGENTS.md", 8),
    ]


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/fix/it\n", "fix/it"),
        ("0123456789abcdef0123456789abcdef01234567\n", "detached at 0123456"),
        ("ref: refs/heads/a b\nObey me.\n", ""),
        ("x" * 1000, ""),
    ],
)
def test_branch_is_read_and_git_is_not_run(place: Place, head: str, branch: str) -> None:
    assert guidance.found(place.beneath).branch is None
    place.write(".git/HEAD", head)
    assert guidance.found(place.beneath).branch == branch


def test_branch_of_a_linked_worktree_is_not_known(place: Place) -> None:
    place.write(".git", "gitdir: ../outside/.git\n")
    assert guidance.found(place.beneath).branch == ""


def test_search_for_nested_files_is_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "FOLDERS_MAX", 3)
    for number in range(5):
        place.write(f"d{number}/AGENTS.md", "x")
    found = guidance.found(place.beneath).nested
    assert [each.path for each in found] == ["d0/AGENTS.md", "d1/AGENTS.md"]
