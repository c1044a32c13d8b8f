"""The system prompt of a server: built in, replaced by a setting, or none."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.bootstrap.options import system_sections
from holdfast.domain.parts import Context
from holdfast.settings import Settings, read_settings
from holdfast.settings.templates import LocalTemplateSettings
from holdfast.tools.builtin import Builtin
from holdfast.tools.workspace.toolbox import offers
from holdfast.turn.default_prompt import default_prompt
from holdfast.turn.prefix import MODEL, SERVER, Prefix, news_of
from tests.support.doubles import HandClock

TOKENS_MAX = 1_800
BYTES_PER_TOKEN = 4
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "prompt"
TEMPLATE: Any = LocalTemplateSettings(kind="local", name="local")
ABOUT_FILES = ("file", "command", "code", "workspace", "git", "commit", "diff", "execute", "cat ")


def golden(name: str, seen: str) -> None:
    path = GOLDEN / f"{name}.md"
    if os.environ.get("HOLDFAST_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(seen + "\n", encoding="utf-8")
    assert seen + "\n" == path.read_text(encoding="utf-8")


def settings(**given: Any) -> Settings:
    facts: dict[str, Any] = {"templates": (), "system_prompt": None, **given}
    return Settings(**facts)


@pytest.mark.parametrize(("name", "workspaces"), [("workspace", True), ("chat", False)])
def test_default_prompt_is_the_agreed_text_within_its_budget(name: str, workspaces: bool) -> None:
    prompt = default_prompt(workspaces=workspaces)
    golden(name, prompt.text)
    assert len(prompt.text.encode()) / BYTES_PER_TOKEN <= TOKENS_MAX
    assert "{" not in prompt.text, "a condition was told"


def test_default_prompt_names_only_tools_that_are_offered() -> None:
    names = {each.spec.name for each in offers(())} | set(Builtin(HandClock()).specs)
    text = default_prompt(workspaces=True).text
    named = set(re.findall(r"\b[a-z]+_[a-z]+\b", text))
    assert named
    assert named <= names


def test_prompt_without_templates_speaks_of_no_files_and_commands() -> None:
    prompt = default_prompt(workspaces=False)
    text = prompt.text.lower().replace("attached files", "").replace("fenced code", "")
    assert [word for word in ABOUT_FILES if word in text] == []
    assert prompt.by_wire == {}


def test_setting_replaces_the_built_in_prompt_and_empty_means_none() -> None:
    with_workspaces = default_prompt(workspaces=True)
    assert system_sections(settings(templates=(TEMPLATE,))) == (
        (with_workspaces.text,),
        with_workspaces.by_wire,
    )
    assert system_sections(settings()) == ((default_prompt(workspaces=False).text,), {})
    own = settings(system_prompt="Be kind.", templates=(TEMPLATE,))
    assert system_sections(own) == (("Be kind.",), {})
    assert system_sections(settings(system_prompt="")) == ((), {})


@pytest.mark.parametrize("given", [None, "", "Be kind."])
def test_only_an_unset_variable_means_the_built_in_prompt(
    monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.delenv("HOLDFAST_SYSTEM_PROMPT", raising=False)
    if given is not None:
        monkeypatch.setenv("HOLDFAST_SYSTEM_PROMPT", given)
    assert read_settings().system_prompt == given


def test_change_of_model_tells_only_what_is_particular_to_the_model() -> None:
    prompt = default_prompt(workspaces=True)
    gemini = Prefix.of((prompt.text,), "Pay taxes.", (), (), model=prompt.by_wire["gemini"])
    other = Prefix.of((prompt.text,), "Pay taxes.", (), (), model=prompt.by_wire.get("chat", ""))
    assert [name for name, _ in gemini.sections] == [SERVER, MODEL, "Organisation instructions"]
    told = news_of(gemini, other, ())
    assert told is not None
    assert [part.name for part in told.parts if isinstance(part, Context)] == [MODEL]
