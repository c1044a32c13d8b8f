"""What the simulator of `holdfast dev` answers: true sentences about itself, and no prose.

A newcomer meets it before any real model. It answers the suggestions of the page, calls a tool that
the prompt names, and says of everything else that it cannot. Tests and benchmarks use the agent.
"""

import re
from collections.abc import Sequence
from typing import Final

from holdfast_simulator import agent
from holdfast_simulator.asked import Asked, Choice, Offer, Said, Speaker
from holdfast_simulator.chance import Chance
from holdfast_simulator.jsons import arr, dumps
from holdfast_simulator.reply import CallPart, Reply, TextPart, ThinkingPart, reply_of

RESULT_LINES_MAX: Final = 12
QUOTE_CHARS_MAX: Final = 160
WORDS_QUOTED_MAX: Final = 12
CREATE: Final = "create_workspace"
RUN: Final = "execute"
LOOK: Final = (
    "for tool in sh python3 node git gcc make curl; do "
    'command -v "$tool" >/dev/null && echo "$tool: $(command -v "$tool")" || echo "$tool: no"; '
    "done; uname -sm"
)

FIRST: Final = "I am a simulator, but tools are real. First I create the workspace."
SECOND: Final = "Now I look which programs are in it."

ABLE: Final = re.compile(r"\bwhat (can you|you can) do\b", re.IGNORECASE)
WRITE: Final = re.compile(r"\bhelp me write\b|\bwrite with me\b", re.IGNORECASE)
WORKSPACE: Final = re.compile(r"\bcreate a workspace\b|\brun something\b", re.IGNORECASE)

ABOUT: Final = (
    "I am a simulator, not a language model. Holdfast answers with me while no model is set up. "
    "Here you can try:\n\n"
    "- **Tools.** Ask me to look at the clock: I call the tool `clock` of this server.\n"
    "- **Commands.** Ask me to create a workspace: I run a command in it and show its real "
    "output.\n"
    "- **Durability.** Close this page, or stop the server, in the middle of an answer. The answer "
    "goes on.\n"
    '- **Your own script.** Write `[[sim: say "Hello" | rate=5]]`, and I say that, at five tokens '
    "a second.\n\n"
    "I cannot think, write, translate or program. For that, the administrator of this server adds "
    "a model."
)
ASK: Final = (
    "I am a simulator and cannot write an announcement. A real model would ask you first:\n\n"
    "1. What is announced, and when does it happen?\n"
    "2. Who reads it, and what should they do?\n"
    "3. How long may it be, and in which tone?\n\n"
    "Answer if you like: Holdfast stores your message. For the text itself, add a model."
)
HONEST: Final = (
    "I am a simulator, not a language model, so I cannot answer “{quote}”. Your message and this "
    "reply are stored as in any other chat. Add a model for a real answer, or ask me what I can do."
)
WITHOUT: Final = (
    "I am a simulator. This chat has no workspaces, so there is nothing to run a command in. The "
    "administrator of this server can set up workspaces."
)
THOUGHT: Final = "I am a simulator. A real model would show its reasoning here."
SEEN: Final = (
    "I am a simulator: I called it because your message names it, and I do not understand the "
    "result. A real model would go on from here."
)


def answer(asked: Asked, chance: Chance) -> Reply:
    """The reply of one step; what the client forces upon a model is left to the agent."""
    if asked.choice is not Choice.AUTO or asked.choice_name is not None:
        return agent.answer(asked, chance)
    if WORKSPACE.search(asked.last_text):
        parts = _in_a_workspace(asked)
    elif asked.results:
        told = _told(asked.results)
        gap = "\n\n" if "\n" in told else " "
        parts = (TextPart(text=f"{told}{gap}{SEEN}"),)
    else:
        parts = _first(asked)
    thinking = (ThinkingPart(text=THOUGHT),) if asked.thinks and not asked.results else ()
    return reply_of(*thinking, *parts)


def _first(asked: Asked) -> tuple[TextPart | CallPart, ...]:
    prompt = asked.last_text
    if ABLE.search(prompt):
        return (TextPart(text=ABOUT),)
    if WRITE.search(prompt):
        return (TextPart(text=ASK),)
    calls = named_calls(asked)
    if calls:
        names = " and ".join(f"`{call.name}`" for call in calls)
        return TextPart(text=f"Let me look that up with {names}."), *calls
    return (TextPart(text=HONEST.format(quote=_quote(prompt))),)


def named_calls(asked: Asked) -> tuple[CallPart, ...]:
    """Calls of the tools that the prompt names. A word such as `plan` is no name of a tool that
    needs arguments: a person who plans a trip would see a made-up call."""
    if asked.step >= agent.STEPS_MAX:
        return ()
    named = [offer for offer in asked.offers if _is_named(offer, asked.last_text)]
    return tuple(agent.call(offer, asked.last_text) for offer in named[: agent.CALLS_MAX])


def _is_named(offer: Offer, prompt: str) -> bool:
    if re.search(rf"\b{re.escape(offer.name)}\b", prompt) is None:
        return False
    return "_" in offer.name or not arr(offer.schema.get("required"))


def _in_a_workspace(asked: Asked) -> tuple[TextPart | CallPart, ...]:
    """Make a workspace, run one command in it, show what came out."""
    offered = {offer.name for offer in asked.offers}
    said = _said(asked)
    if SECOND in said:
        return (TextPart(text=f"I am a simulator, but this was real. {_told(asked.results)}"),)
    if FIRST not in said and CREATE in offered:
        return TextPart(text=FIRST), CallPart(name=CREATE, arguments="{}")
    if RUN in offered:
        arguments = dumps({"command": LOOK}).decode()
        return TextPart(text=SECOND), CallPart(name=RUN, arguments=arguments)
    if asked.results:
        return (TextPart(text=f"I am a simulator. No command ran. {_told(asked.results)}"),)
    return (TextPart(text=WITHOUT),)


def _said(asked: Asked) -> str:
    """What the simulator has said in this turn."""
    texts: list[str] = []
    for said in reversed(asked.prompt):
        if said.speaker is Speaker.USER and said.text.strip():
            break
        texts.append(said.text)
    return "\n".join(texts)


def _told(results: Sequence[Said]) -> str:
    """The results, verbatim up to a bound: in one line if they are short, else as blocks."""
    texts = [said.text.strip() or "nothing" for said in results]
    noun = "The tool" if len(texts) == 1 else "The tools"
    if all(len(text) <= QUOTE_CHARS_MAX and "\n" not in text for text in texts):
        return f"{noun} answered: {'; '.join(text.rstrip('.') for text in texts)}."
    blocks = "\n\n".join(f"```text\n{_lines(text)}\n```" for text in texts)
    return f"{noun} answered:\n\n{blocks}"


def _lines(text: str) -> str:
    lines = text.replace("```", "'''").splitlines()
    kept = [line[:QUOTE_CHARS_MAX] for line in lines[:RESULT_LINES_MAX]]
    left = len(lines) - len(kept)
    return "\n".join([*kept, *([f"… and {left} more lines"] if left else [])])


def _quote(prompt: str) -> str:
    words = re.sub(r"\[\[sim:.*?\]\]", "", prompt, flags=re.DOTALL).split()
    text = " ".join(words[:WORDS_QUOTED_MAX])[:QUOTE_CHARS_MAX]
    return f"{text} …" if len(words) > WORDS_QUOTED_MAX else text or "this"
