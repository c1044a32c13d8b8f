"""The arguments and options that several commands share, worded once."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ChatArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="CHAT",
        help="The beginning of an id, @last, @pinned/1, or (on a terminal) words of a title.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
AsJsonl: TypeAlias = Annotated[
    bool, typer.Option("--jsonl", help="The stream's events on stdout, one JSON object per line.")
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only the final text and errors.")
]
OutFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the output to this file."),
]
Model: TypeAlias = Annotated[
    str | None, typer.Option("--model", "-m", help="One of `holdfast models list`.")
]
Effort: TypeAlias = Annotated[
    str | None, typer.Option(help="Reasoning effort (for example low, medium, high).")
]
Web: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--web/--no-web",
        help="Let the provider of the model search the web, or not, from this message on.",
    ),
]
Plan: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--plan/--no-plan",
        help="Only make a plan, or end plan mode, from this message on.",
    ),
]
TimeoutS: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        min=0,
        metavar="SECONDS",
        help="Stop waiting after this time; the agent keeps running.",
    ),
]
Files: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--file", "-f", exists=True, dir_okay=False, help="Append this text file."),
]
Prompt: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[PROMPT]", help="The message; - or nothing reads stdin."),
]
Metadata: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="A pair of the chat's metadata."),
]


def metadata_pairs(given: list[str] | None) -> dict[str, str]:
    """The pairs of `KEY=VALUE` arguments. Raises `BadParameter`."""
    pairs = dict[str, str]()
    for each in given or []:
        key, sign, value = each.partition("=")
        if not key or not sign:
            raise typer.BadParameter(f"{each!r} is not KEY=VALUE.")
        pairs[key] = value
    return pairs
