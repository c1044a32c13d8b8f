"""Settings of titles, turn labels and summaries of chats."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import Field


class ChatTextsMode(StrEnum):
    OFF = "off"
    TITLES = "titles"
    ALL = "all"


ChatTextsGiven: TypeAlias = Annotated[
    ChatTextsMode,
    Field(
        description="What this process lets a model write about chats, beside their turns. `all`:"
        " a title for each new chat, a label of two to five words after each turn, and a summary"
        " after every third turn; each is a short call of a model. `titles`: titles alone. `off`:"
        " no such call; a chat is called by the first words of its first message.",
    ),
]
TitleModel: TypeAlias = Annotated[
    str,
    Field(
        max_length=200,
        description="The model for titles, turn labels and summaries, by its name: a small and"
        " cheap one is enough. Empty: the model of the chat.",
    ),
]
