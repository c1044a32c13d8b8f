"""Instruction files and skills are told; hostile ones do no harm."""

import os

import pytest

from holdfast_agent.files import guidance
from tests.support.agent_files import SECRET, Client, Place


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
        {"path": "AGENTS.md", "text": "Use tabs.\n"},
        {"path": ".holdfast/instructions.md", "text": "Be kind.\n"},
    ]
    assert told["skills"] == [
        {"name": "release", "description": "How to release.",
         "path": ".holdfast/skills/rel/SKILL.md"},
        {"name": "plain", "description": "", "path": ".agents/skills/plain/SKILL.md"},
    ]  # fmt: skip
    assert text["text"] == "Do it.\n"
    assert text["files"] == [".holdfast/skills/rel/steps/one.sh"]


async def test_an_empty_workspace_says_nothing(files: Client) -> None:
    _, told = await files.get("/v1/guidance")
    status, missing = await files.get("/v1/skills/release")

    assert told == {"instructions": [], "skills": []}
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

    assert told == {"instructions": [], "skills": []}
    assert status == 404


async def test_what_is_huge_is_cut_and_said_to_be(place: Place, files: Client) -> None:
    place.write("AGENTS.md", "é" * 100_000)
    place.write(".agents/skills/big/SKILL.md", skill("big", "d" * 5000, "x" * 500_000))

    _, told = await files.get("/v1/guidance")
    _, text = await files.get("/v1/skills/big")

    instruction = told["instructions"][0]["text"]
    assert len(instruction.encode()) < guidance.INSTRUCTION_BYTES_MAX + 100
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

    assert len(guidance.found(place.beneath).skills) == 3
