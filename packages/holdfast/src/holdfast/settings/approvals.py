"""Settings of what a call needs before it runs."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

ForeignText: TypeAlias = Annotated[
    Literal["ask", "deny", "allow"],
    Field(
        description="What happens to a tool call that may send data out (a command in a workspace"
        " with a network, `web_fetch`, a tool with an open world) once the chat has read text that"
        " neither its user nor the operator wrote: ask its owner for approval, deny it, or allow"
        " it. See docs/how-to/approvals.md.",
    ),
]
