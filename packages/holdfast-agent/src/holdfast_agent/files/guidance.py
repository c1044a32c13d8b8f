"""What the workspace tells the model: instruction files and skills.

For instruction files see `projects.py`. A skill is a folder with a `SKILL.md` that begins with its
name and what it is for:

    ---
    name: release
    description: How to make a release of this project.
    ---

All of it is untrusted content of the workspace: it is bounded, opened like any other file,
and what is odd (a link that leads out, a binary, a name that is no name) is passed over.
"""

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import yaml

from holdfast_agent.faults import Refused
from holdfast_agent.files import paths, projects
from holdfast_agent.files.beneath import Beneath, Place
from holdfast_agent.files.listing import inner_folder, list_files
from holdfast_agent.files.naming import has_hidden_step, named_in
from holdfast_agent.files.projects import content
from holdfast_agent.wire import (
    FaultCode,
    Guidance,
    ListFiles,
    SkillInfo,
    SkillText,
)

SKILL_FOLDERS: Final = (
    ".holdfast/skills",
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".github/skills",
)
SKILL_FILE: Final = "SKILL.md"
SKILL_BYTES_MAX: Final = 128 * 1024
SKILLS_MAX: Final = 200
FRONT_BYTES_MAX: Final = 8 * 1024
DESCRIPTION_CHARS_MAX: Final = 1024
BESIDE_MAX: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FRONT: Final = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Skill:
    name: str
    description: str
    folder: str
    body: str

    @property
    def path(self) -> str:
        return paths.shown(f"{self.folder}/{SKILL_FILE}")


def found(beneath: Beneath) -> Guidance:
    skills = list(_skills(beneath))
    return Guidance(
        instructions=tuple(projects.instructions(beneath)),
        nested=projects.nested(beneath),
        branch=projects.branch(beneath),
        skills=tuple(
            SkillInfo(name=each.name, description=each.description, path=each.path)
            for each in skills[:SKILLS_MAX]
        ),
        skills_left_out=max(0, len(skills) - SKILLS_MAX),
    )


def skill(beneath: Beneath, name: str) -> SkillText:
    known: list[str] = []
    for each in _skills(beneath):
        if each.name == name:
            files = tuple(_beside(beneath, each))
            folder = paths.shown(each.folder)
            return SkillText(name=name, path=each.path, folder=folder, text=each.body, files=files)
        known.append(each.name)
    there = f"There are: {', '.join(known)}." if known else "This workspace has none."
    message = f"There is no skill `{paths.shown(name)[:100]}`. {there}"
    raise Refused(FaultCode.NOT_FOUND, message)


def _skills(beneath: Beneath) -> Generator[_Skill]:
    """In the order of the folders, then by name; of two with one name the first one counts."""
    seen: set[str] = set()
    for folder in SKILL_FOLDERS:
        for name in _folders_in(beneath, folder):
            each = _skill(beneath, folder, name)
            if each is None or each.name in seen:
                continue
            seen.add(each.name)
            yield each


def _folders_in(beneath: Beneath, path: str) -> list[str]:
    """Links count, too: where they lead is seen when something in them is opened."""
    try:
        with beneath.folder(Place(path)) as start, inner_folder(start, ".") as folder:
            named, _ = named_in(folder, hidden=False)
    except (Refused, OSError):
        return []
    return [each.name for each in named if each.kind in ("folder", "link")][: 5 * SKILLS_MAX]


def _skill(beneath: Beneath, above: str, folder_name: str) -> _Skill | None:
    folder = f"{above}/{folder_name}"
    if len(paths.shown(folder)) > paths.SHOWN_CHARS_MAX // 2:
        return None
    found = content(beneath, f"{folder}/{SKILL_FILE}", SKILL_BYTES_MAX)
    if found is None:
        return None
    front, body = _divided(found.text)
    name = front.get("name", folder_name).strip()
    if not _NAME.fullmatch(name):
        return None
    description = " ".join(front.get("description", "").split())
    if len(description) > DESCRIPTION_CHARS_MAX:
        description = f"{description[:DESCRIPTION_CHARS_MAX]}…"
    return _Skill(name, description, folder, body)


def _divided(text: str) -> tuple[Mapping[str, str], str]:
    """What stands in front, as far as it is text, and the rest."""
    front = _FRONT.match(text)
    if front is None or front.end(1) > FRONT_BYTES_MAX:
        return {}, text
    try:
        # All scalars stay text: no dates, no numbers, and no objects to be made.
        said: Any = yaml.BaseLoader(front[1]).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}, text
    if not isinstance(said, dict):
        return {}, text
    pairs = cast("dict[object, object]", said)
    kept = {
        key: value
        for key, value in pairs.items()
        if isinstance(key, str) and isinstance(value, str)
    }
    return kept, text[front.end() :]


def _beside(beneath: Beneath, each: _Skill) -> list[str]:
    asked = ListFiles(path=each.folder, depth=4, limit=BESIDE_MAX)
    try:
        listed = list_files(beneath, asked)
    except Refused:
        return []
    return [
        entry.path
        for entry in listed.entries
        if entry.kind == "file"
        and entry.path != each.path
        and not has_hidden_step(entry.path.removeprefix(f"{each.folder}/"))
    ]
