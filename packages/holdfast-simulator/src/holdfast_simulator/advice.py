"""The advisor: what a client asks beside a turn, with a transcript of the chat around the question.

Directives of the transcript were meant for the agent. So only the question says how to answer:
`[[sim: call advisor {"question": "Which way? [[sim: say \\"Left.\\"]]"}]]` plays an agent that asks
and an advisor that answers; a fault or a rate in the question plays one that fails or is slow.
"""

import re
from dataclasses import replace
from typing import Final

from holdfast_simulator.asked import Asked, Said, Speaker
from holdfast_simulator.jsons import dumps
from holdfast_simulator.reply import Reply, TextPart, reply_of

SYSTEM: Final = b"You advise an agent that is in the middle of a task."
QUESTION: Final = re.compile(r"<question>\n(.*)\n</question>\s*\Z", re.DOTALL)
ADVICE: Final = "Take the way that is easier to undo, and check it before you report."


def question_of(asked: Asked) -> Asked | None:
    """The request with nothing but the question; None: it asks no advisor."""
    found = QUESTION.search(asked.last_text)
    if found is None or SYSTEM not in dumps(asked.body):
        return None
    return replace(asked, prompt=(Said(speaker=Speaker.USER, text=found[1]),))


def answer() -> Reply:
    """What an advisor says to a question without a directive."""
    return reply_of(TextPart(text=ADVICE))
