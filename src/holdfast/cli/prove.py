"""`holdfast prove`: attack our own promises on this machine, and say what became of them."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from holdfast.prove.proof import Proof

LIST: Final = "Say what there is, and do nothing."


def prove(
    *,
    full: Annotated[bool, typer.Option("--full", help="The published numbers: hours.")] = False,
    soak: Annotated[bool, typer.Option("--soak", help="Ten times that: a night or two.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Minutes; the default.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ATTACK", help="Just this one; again for more."),
    ] = None,
    mutants: Annotated[
        bool, typer.Option(help="Take protections away, too, and see that it is noticed.")
    ] = True,
    seed: Annotated[int, typer.Option(help="What chance is drawn from.")] = 1,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures here.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the promises page here.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help=LIST)] = False,
) -> None:
    """Attack Holdfast's own promises with real processes on this machine, and count what broke.

    Needs PostgreSQL's server binaries (it starts servers of its own) and a Redis on
    127.0.0.1:6379. Exit code 1: a promise broke, or a protection was missed by nobody.
    """
    from holdfast.prove.attack import Profile
    from holdfast.prove.attacks import ATTACKS
    from holdfast.prove.noticed import mutants as all_mutants
    from holdfast.prove.proof import prove as run

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
    taken_away = all_mutants() if mutants and not only else []
    proof = asyncio.run(run(chosen, taken_away, profile, seed, _say))
    _write(proof, json, page)
    raise typer.Exit(0 if proof.holds else 1)


def _say(said: str) -> None:
    typer.echo(said)


def _write(proof: "Proof", json: Path | None, page: Path | None) -> None:
    import orjson

    from holdfast.prove.report import as_json, as_page

    if json is not None:
        json.write_bytes(orjson.dumps(as_json(proof), option=orjson.OPT_INDENT_2) + b"\n")
    if page is not None:
        page.write_text(as_page(proof), encoding="utf-8")
    broken = sum(not each.held for each in proof.tried)
    missed = [name for name, seen in proof.noticed.items() if not seen]
    typer.echo(
        f"{len(proof.tried) - broken} of {len(proof.tried)} promises held;"
        f" mutants noticed {len(proof.noticed) - len(missed)} of {len(proof.noticed)}."
    )
