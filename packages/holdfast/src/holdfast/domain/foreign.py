"""Foreign text: what neither a user of the chat nor its operator wrote.

Files of a repository, the output of commands, web pages and what was made of them. A model that
reads it may take it for instructions, and no filter keeps it from that. Two things are done:

- `fenced` puts text into a fence that the text cannot close: the fence is named by a digest of the
  text, which the text cannot contain. The name is the same while the text is, as a prompt's prefix
  must be (ADR 0051).
- `sources_of` names where the foreign text of a message comes from. After it, a call that may send
  data out is put to a person (`turn.step_policy`, ADR 0066).
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Final

from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Context, File, FileReference, Part, Skill, Source, ToolResult
from holdfast.domain.parts import Synthetic as By

FENCE: Final = "untrusted-"
DIGEST_CHARS: Final = 20
SUMMARY: Final = "a summary of earlier messages"
ATTACHED: Final = "an attached file"
SKILL: Final = "a skill"
WEB: Final = "the web"
GUIDANCE: Final = "instruction files of the workspace"
_OURS: Final = frozenset({By.DENIED, By.EXPIRED, By.SUPERSEDED, By.CUT_OFF})
"""Results whose words are the server's or a person's own, whatever the tool is."""
_LOOKALIKE: Final = re.compile(r"<(?=\s*/?\s*untrusted)", re.IGNORECASE)
_OPENING: Final = re.compile(rf"<{FENCE}[0-9a-f]{{{DIGEST_CHARS}}} ")
_ATTRIBUTE: Final = {'"': "'", "<": "(", ">": ")", "\n": " ", "\r": " "}


def fenced(text: str, source: str) -> str:
    """The text between two tags that only we can have written. `source`: a path or an address."""
    said = f"{source}\0{text}".encode("utf-8", "surrogatepass")
    name = f"{FENCE}{hashlib.sha256(said).hexdigest()[:DIGEST_CHARS]}"
    return f'<{name} source="{attribute(source)}">\n{_LOOKALIKE.sub("&lt;", text)}\n</{name}>'


def holds_fence(text: str) -> bool:
    return _OPENING.search(text) is not None


def attribute(text: str) -> str:
    """Text that stays within the double quotes of a tag."""
    return "".join(_ATTRIBUTE.get(char, char) for char in text)


def sources_of(body: MessageBody) -> Iterator[str]:
    """Where foreign text in the message comes from: a name of a tool, or one of the words above."""
    if body.role is Role.BOUNDARY:
        yield SUMMARY
        return
    for part in body.parts:
        source = _source_of(part)
        if source is not None:
            yield source
        if isinstance(part, ToolResult) and holds_fence(str(part.output)):
            yield GUIDANCE


def _source_of(part: Part) -> str | None:
    match part:
        case ToolResult():
            return None if part.synthetic in _OURS else part.tool
        case Source():
            return WEB
        case File() | FileReference():
            return ATTACHED
        case Skill():
            return SKILL
        case Context() if holds_fence(part.text):
            return GUIDANCE
        case _:
            return None
