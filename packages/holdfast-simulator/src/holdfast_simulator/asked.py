"""What a client asked for, read off any wire: what planning, counting and billing need."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdfast_simulator.jsons import JsonObject


class WireName(StrEnum):
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"
    CHAT = "chat"
    GEMINI = "gemini"


class Speaker(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool that the client offers."""

    name: str
    description: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One entry of the prompt, reduced to what the agent reads."""

    speaker: Speaker
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A piece of the prompt as the provider's prompt cache sees it."""

    data: bytes
    ttl_s: int | None = None
    """A cache breakpoint after this piece, and how long it lives."""


class Choice(StrEnum):
    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    wire: WireName
    model: str
    streams: bool
    prompt: tuple[Said, ...]
    offers: tuple[Offer, ...] = ()
    choice: Choice = Choice.AUTO
    choice_name: str | None = None
    """The one tool that must be called, when the client names it."""
    searches: bool = False
    """The client lets the provider search the web."""
    thinks: bool = False
    tokens_max: int | None = None
    segments: tuple[Segment, ...] = ()
    bound: bytes | None = None
    """What thinking of the reply is bound to; None: the model does not bind it."""
    transformations: list[JsonObject] | None = None
    """What was changed of the prompt; None: the client did not ask."""
    body: JsonObject
    party: str = ""
    """Who seals: a vendor opens only what itself has sealed."""

    @property
    def last_text(self) -> str:
        """The newest text of the user: where directives are looked for."""
        for said in reversed(self.prompt):
            if said.speaker is Speaker.USER and said.text.strip():
                return said.text
        return ""

    @property
    def step(self) -> int:
        """How many replies came since that text: 0 asks for the first step of the turn."""
        steps = 0
        for said in reversed(self.prompt):
            if said.speaker is Speaker.USER and said.text.strip():
                break
            steps += said.speaker is Speaker.ASSISTANT
        return steps

    @property
    def replies(self) -> int:
        """How many replies the whole chat holds: a script that runs in order counts by it."""
        return sum(said.speaker is Speaker.ASSISTANT for said in self.prompt)

    @property
    def results(self) -> tuple[Said, ...]:
        """The tool results that end the prompt."""
        found: list[Said] = []
        for said in reversed(self.prompt):
            if said.speaker is not Speaker.TOOL:
                break
            found.append(said)
        return tuple(reversed(found))


CONTEXT_WINDOWS: Final = {
    WireName.ANTHROPIC: 200_000,
    WireName.RESPONSES: 400_000,
    WireName.CHAT: 128_000,
    WireName.GEMINI: 1_048_576,
}
