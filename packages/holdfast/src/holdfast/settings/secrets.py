"""Settings of the master key, which wraps the keys of secrets at rest."""

from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field

MasterKeyFile: TypeAlias = Annotated[
    Path | None,
    Field(
        description="File with the master key that secrets in the database are sealed under: 32"
        " random bytes as base64 (`openssl rand -base64 32`). More lines are older keys, which"
        " still open what they sealed. The same on all servers. Empty: secrets cannot be stored.",
    ),
]
MasterKeyCommand: TypeAlias = Annotated[
    tuple[str, ...],
    Field(
        max_length=100,
        description="Program that prints what that file would hold, as a JSON list of the program"
        " and its arguments: a key management service or a vault. It runs once, at the start.",
    ),
]
