"""`holdfast run`: begin a chat with a prompt, and stream it to the end of the turn."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import Exit
from holdfast.cli.interrupt_keys import OnSigint, rungs_of_run
from holdfast.cli.options import (
    AsJson,
    AsJsonl,
    Effort,
    Files,
    Metadata,
    Model,
    OutFile,
    Plan,
    Prompt,
    Quiet,
    TimeoutS,
    Web,
    metadata_pairs,
)

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def run(
    *,
    prompt: Prompt = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Print the chat's id at once and exit.")
    ] = False,
    model: Model = None,
    effort: Effort = None,
    web: Web = None,
    plan: Plan = None,
    metadata: Metadata = None,
    timeout_s: TimeoutS = None,
    files: Files = None,
    on_sigint: Annotated[
        OnSigint, typer.Option(help="What the first Ctrl-C does; one more always detaches.")
    ] = OnSigint.INTERRUPT,
    json: AsJson = False,
    jsonl: AsJsonl = False,
    quiet: Quiet = False,
    output: OutFile = None,
) -> None:
    """Start a chat and stream the answer until the turn ends."""
    pairs = metadata_pairs(metadata)

    async def work(desk: "ClientContext") -> Exit | None:
        from holdfast.cli.after_turn import print_settled
        from holdfast.cli.follow import Following, OnScreen, form_of, sink_for
        from holdfast.cli.input import what_is_said

        form = form_of(json=json, jsonl=jsonl, quiet=quiet)
        said = what_is_said(prompt, files)
        chat = await desk.client.chats.create(
            said,
            model=model,
            effort=effort,
            web=web,
            plan_mode=plan,
            metadata=pairs or None,
        )
        if detach:
            desk.screen.answer(chat.id)
            return None
        sink = sink_for(desk, form, chat)
        if isinstance(sink, OnScreen):
            sink.live.own(1)
            desk.screen.note(f"chat {chat.id}")
        following = Following(desk, chat, sink, rungs_of_run(on_sigint))
        code = await following.until("settled", timeout_s=timeout_s)
        print_settled(desk.screen, form, chat, code)
        return code

    at_desk(work, to=output)
