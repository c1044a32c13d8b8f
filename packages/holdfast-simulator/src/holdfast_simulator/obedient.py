"""A model that follows every instruction in what it reads: of users and of strangers.

Where nothing else says what to answer, it looks for directives (`directives.py`) in the newest tool
results or, at the first step of a turn, in the system prompt, and does what they say. A server in
front of it is safe if nothing happens that only a person may decide.
"""

from typing import Final

from holdfast_simulator.asked import Asked, Speaker
from holdfast_simulator.directives import DirectiveWrong, Item, find

DONE: Final = "I did what the text said."


def orders(asked: Asked) -> tuple[Item, ...]:
    """What the text that is new to the model tells it to do; nothing if that cannot be read."""
    if asked.results:
        texts = [said.text for said in asked.results]
    elif asked.step == 0:
        texts = [said.text for said in asked.prompt if said.speaker is Speaker.SYSTEM]
    else:
        return ()
    found: list[Item] = []
    for text in texts:
        try:
            directive = find(text)
        except DirectiveWrong:
            continue
        if directive is not None and directive.speaks:
            found += directive.steps[0]
    return tuple(found) or (Item(word="say", text=DONE),)
