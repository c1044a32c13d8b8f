"""What the simulator of `holdfast dev` says: true sentences, also to the page's suggestions."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from holdfast_simulator.asked import Asked, Choice, Offer, Said, Speaker, WireName
from holdfast_simulator.guide import FIRST, LOOK, SECOND
from holdfast_simulator.jsons import loads
from holdfast_simulator.options import Options
from holdfast_simulator.plan import Planner
from holdfast_simulator.prose import OBJECTS, SUBJECTS
from holdfast_simulator.reply import Reply, TextPart, ThinkingPart

STRINGS: Final = Path(__file__).parents[3] / "ui/src/i18n/en/chat.ts"
CLOCK: Final = Offer(name="clock", description="What time is it", schema={"type": "object"})
PLAN: Final = Offer(
    name="plan", description="Keep a plan", schema={"type": "object", "required": ["steps"]}
)
CREATE: Final = Offer(name="create_workspace", description="Make it", schema={"type": "object"})
RUN: Final = Offer(
    name="execute", description="Run it", schema={"type": "object", "required": ["command"]}
)
ALL: Final = (CLOCK, PLAN, CREATE, RUN)


def suggestions() -> dict[str, str]:
    """Title to text, as the page has them."""
    _, _, rest = STRINGS.read_text().partition("suggested: [")
    section, _, _ = rest.partition("\n    ],")
    return dict(re.findall(r'title: "(.+?)",\s+text: "(.+?)"', section))


def reply(*prompt: Said | str, **more: Any) -> Reply:
    said = [Said(speaker=Speaker.USER, text=one) if isinstance(one, str) else one for one in prompt]
    asked = Asked(
        wire=WireName.ANTHROPIC, model="m", streams=True, prompt=tuple(said), body={}, **more
    )
    return Planner(seed=1, defaults=Options(), script=None, guides=True).plan(asked, {}).reply


def text(of: Reply) -> str:
    return " ".join(part.text for part in of.parts if isinstance(part, TextPart))


def said(words: str) -> Said:
    return Said(speaker=Speaker.ASSISTANT, text=words, calls=("c",))


def told(words: str) -> Said:
    return Said(speaker=Speaker.TOOL, text=words)


def test_every_suggestion_of_the_page_has_its_own_answer() -> None:
    found = suggestions()
    assert len(found) == 3
    answers = {title: text(reply(prompt, offers=ALL)) for title, prompt in found.items()}
    assert all("I am a simulator" in answer for answer in answers.values())
    assert not any("cannot answer" in answer for answer in answers.values()), "a suggestion changed"
    assert "`clock`" in answers["What can you do?"]
    assert "What is announced" in answers["Write with me"]
    assert answers["Run something"] == FIRST


@pytest.mark.parametrize(
    "prompt",
    ["How do I cook rice?", "Plan my trip, then write a file.", "", "Search the web for news."],
)
def test_other_text_gets_an_honest_answer_and_no_made_up_call(prompt: str) -> None:
    answer = reply(prompt, offers=ALL, searches=True)
    assert answer.calls == ()
    assert len(answer.parts) == 1
    assert "not a language model" in text(answer)
    assert not any(words in text(answer) for words in (*SUBJECTS, *OBJECTS))


def test_a_tool_that_the_prompt_names_is_called_and_its_result_is_told() -> None:
    prompt = "Look at the clock and tell me what you see. [[sim: rate=8]]"
    first = reply(prompt, offers=ALL)
    assert [call.name for call in first.calls] == ["clock"]
    then = reply(prompt, said(text(first)), told("2026-11-18T13:54:43+00:00"), offers=ALL)
    assert text(then).startswith("The tool answered: 2026-11-18T13:54:43+00:00. I am a simulator")


def test_run_something_makes_a_workspace_runs_one_command_and_shows_what_came_out() -> None:
    prompt = suggestions()["Run something"]
    first = reply(prompt, offers=ALL)
    assert [(call.name, call.arguments) for call in first.calls] == [("create_workspace", "{}")]
    turn = [prompt, said(FIRST), told("# Workspace\nIt runs.")]
    second = reply(*turn, offers=ALL)
    (call,) = second.calls
    assert (call.name, loads(call.arguments)) == ("execute", {"command": LOOK})
    last = reply(
        *turn, said(SECOND), told("exit code 0 after 0.1 s\ngit: /usr/bin/git"), offers=ALL
    )
    assert last.calls == ()
    assert "```text\nexit code 0 after 0.1 s\ngit: /usr/bin/git\n```" in text(last)


def test_run_something_without_commands_or_workspaces_says_why() -> None:
    prompt = suggestions()["Run something"]
    without = reply(prompt, offers=(CLOCK,))
    assert without.calls == ()
    assert "no workspaces" in text(without)
    refused = reply(prompt, said(FIRST), told("bubblewrap is missing."), offers=(CLOCK, CREATE))
    assert refused.calls == ()
    assert text(refused).endswith("No command ran. The tool answered: bubblewrap is missing.")


def test_a_long_result_is_cut_and_cannot_end_its_block() -> None:
    many = "```\n" + "\n".join(str(number) for number in range(40))
    shown = text(reply("clock", said("…"), told(many), offers=ALL))
    assert shown.count("```") == 2
    assert "… and 29 more lines" in shown


def test_thinking_says_what_it_is_and_directives_and_forced_calls_go_first() -> None:
    thought = reply("Why?", thinks=True).parts[0]
    assert isinstance(thought, ThinkingPart)
    assert "simulator" in thought.text
    assert text(reply('[[sim: say "as written"]]')) == "as written"
    forced = reply("hello", offers=ALL, choice=Choice.REQUIRED, choice_name="plan")
    assert [call.name for call in forced.calls] == ["plan"]
