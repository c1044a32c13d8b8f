"""Titles, labels and summaries of chats: what a client asks for beside a turn.

Such a request quotes a chat, and whatever directive a person wrote into that chat was meant for the
turn. So it is answered here, before directives are looked for.
"""

import re
from typing import Final

from holdfast_simulator.asked import Asked
from holdfast_simulator.jsons import dumps
from holdfast_simulator.reply import Reply, TextPart, reply_of

TITLE_WORDS: Final = 5
DIRECTIVE: Final = re.compile(r"\[\[sim:.*?\]\]", re.DOTALL)
QUOTED: Final = re.compile(r"<chat>\s*(?:User: )?(.*?)</chat>", re.DOTALL)


def answer(asked: Asked) -> Reply | None:
    """None: the request is a turn of a chat."""
    quoted = QUOTED.search(asked.last_text)
    if quoted is None:
        return None
    instructed = dumps(asked.body)  # each wire has a place of its own for instructions
    words = DIRECTIVE.sub("", quoted[1]).partition("\n\n")[0].split()
    if b"You write the title of a chat" in instructed:
        title = " ".join(word.strip(".,:;!?") for word in words[:TITLE_WORDS]) or "A script"
        return reply_of(TextPart(text=title))
    if b"You say what the last turn" in instructed:
        return reply_of(TextPart(text="Simulator answered"))
    if b"You summarise a chat" in instructed:
        begin = " ".join(words[: 4 * TITLE_WORDS])
        return reply_of(TextPart(text=f"A chat with the simulator, which began with “{begin}”."))
    return None
