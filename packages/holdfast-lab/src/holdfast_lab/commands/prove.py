"""`holdfast lab prove`: attack our own promises on this machine, and say what became of them."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from holdfast_lab.chaos.proof import Proof

LIST: Final = "List the attacks and exit."


def prove(
    *,
    full: Annotated[bool, typer.Option("--full", help="The published numbers: hours.")] = False,
    soak: Annotated[bool, typer.Option("--soak", help="Ten times that: a night or two.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Minutes; the default.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ATTACK", help="Only this attack; may be repeated."),
    ] = None,
    mutants: Annotated[
        bool, typer.Option(help="Also remove protections, and check that each removal is noticed.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 1,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures here, or add them.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the promises page here.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help=LIST)] = False,
) -> None:
    """Attack Holdfast's own promises with real processes on this machine, and count what broke.

    Needs the server programs of PostgreSQL and Redis (or Valkey): it starts servers of its own.
    Exit code 1: a promise broke, or no check noticed that a protection was removed.
    """
    from holdfast_lab.chaos.attack import Profile
    from holdfast_lab.chaos.attacks import ATTACKS
    from holdfast_lab.chaos.noticed import mutants as all_mutants
    from holdfast_lab.chaos.proof import Proof
    from holdfast_lab.chaos.proof import prove as run

    if quick + full + soak > 1:
        raise typer.BadParameter("--quick, --full and --soak exclude each other.")
    profile = Profile.SOAK if soak else Profile.FULL if full else Profile.QUICK
    unknown = set(only or ()) - {attack.name for attack in ATTACKS}
    if unknown:
        raise typer.BadParameter(f"There is no attack {', '.join(sorted(unknown))}: see --list.")
    chosen = [attack for attack in ATTACKS if not only or attack.name in only]
    if list_:
        for attack in chosen:
            typer.echo(f"{attack.name:<17} {attack.promise}")
        return
    names = {attack.name for attack in chosen}
    taken_away = [
        each for each in all_mutants() if mutants and names & {*each.attack.split(" and ")}
    ]
    proof = Proof(profile, seed)
    keep = _keeping(proof, json, page)
    _run(run(chosen, taken_away, proof, _say, keep))
    _sum_up(proof)
    raise typer.Exit(0 if proof.holds else 1)


def _run(proving: Coroutine[Any, Any, None]) -> None:
    """Run to the end or until a signal; no started process is left behind."""
    from holdfast.cli.exit_codes import Exit
    from holdfast.tasks import end_on_terminate

    async def attended() -> None:
        end_on_terminate()
        await proving

    try:
        asyncio.run(attended())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(Exit.INTERRUPTED) from None


def _say(said: str) -> None:
    typer.echo(said)


def _keeping(proof: "Proof", json: Path | None, page: Path | None) -> Callable[[], None]:
    import orjson

    from holdfast_lab.chaos.report import as_page, read_report, with_proof

    before = read_report(json)

    def keep() -> None:
        report = with_proof(before, proof)
        if json is not None:
            json.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2) + b"\n")
        if page is not None:
            page.write_text(as_page(report), encoding="utf-8")

    return keep


def _sum_up(proof: "Proof") -> None:
    held = sum(each.held for each in proof.tried)
    not_tried = [each.attack.name for each in proof.tried if each.found is None]
    beside = f" Not tried: {', '.join(not_tried)}." if not_tried else ""
    typer.echo(
        f"{held} of {len(proof.tried)} promises held; mutants noticed"
        f" {sum(proof.noticed.values())} of {len(proof.noticed)}.{beside}"
    )
