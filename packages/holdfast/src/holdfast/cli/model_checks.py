"""`holdfast models check` and `holdfast models discover`: the providers behind a server.

Both read the settings of a server, as `holdfast serve` does, and need no server to run.
"""

import asyncio
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from holdfast.adapters.providers.discovery import Found
    from holdfast.adapters.providers.listings import Listed
    from holdfast.bootstrap.model_checks import CheckedModel
    from holdfast.settings import Settings

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="Names of models; none: all of the settings."),
]


def check(models: Names = None, *, json: AsJson = False) -> None:
    """Ask each model of the settings for one word, with one tool; says what failed.

    Exit code 1: a model did not answer. Costs a few tokens for each model.
    """

    async def work(settings: "Settings") -> list["CheckedModel"]:
        from holdfast.bootstrap.model_checks import check_models

        checked: list[CheckedModel] = []
        async for each in check_models(settings, models or ()):
            checked.append(each)
            if not json:
                typer.echo(_checked_line(each))
        return checked

    checked = _run(work)
    if json:
        _echo_json([_checked_json(each) for each in checked])
    raise typer.Exit(1 if any(each.failure for each in checked) else 0)


def discover(models: Names = None, *, json: AsJson = False) -> None:
    """Show what the providers' lists say of the models of the settings.

    Exit code 1: a list could not be read.
    """

    async def work(settings: "Settings") -> list["Found"]:
        from holdfast.bootstrap.model_checks import discover_models

        return [found async for found in discover_models(settings, models or ())]

    found = _run(work)
    if json:
        _echo_json([_found_json(each) for each in found])
    else:
        for each in found:
            typer.echo(f"{each.name:<24} {_found_words(each)}")
    raise typer.Exit(1 if any(each.error for each in found) else 0)


def _run(work: "Callable[[Settings], Coroutine[Any, Any, list[Any]]]") -> list[Any]:
    from holdfast.cli.process import EXIT_WRONG_SETTINGS, say
    from holdfast.settings import WrongSettings, read_settings

    try:
        return asyncio.run(work(read_settings()))
    except WrongSettings as wrong:
        say(str(wrong))
        raise typer.Exit(EXIT_WRONG_SETTINGS) from None


def _checked_line(checked: "CheckedModel") -> str:
    said = [
        "ok    " if checked.failure is None else "failed",
        f"{checked.name:<24}",
        str(checked.status or "-"),
        f"{checked.took_s:.1f} s",
    ]
    if checked.first_part_s is not None:
        said.append(f"(first part {checked.first_part_s:.1f} s)")
    if checked.usage is not None and checked.usage.input:
        said.append(f"{checked.usage.input} + {checked.usage.output} tokens")
    if checked.failure is None:
        said.append(_dollars(checked.cost_micros))
    if checked.request_id:
        said.append(checked.request_id)
    line = "  ".join(said)
    return line if checked.failure is None else f"{line}\n       {checked.failure}"


def _dollars(micros: int | None) -> str:
    return "price unknown" if micros is None else f"${micros / 1_000_000:.6f}"


def _checked_json(checked: "CheckedModel") -> dict[str, object]:
    usage = None if checked.usage is None else dict(checked.usage.counts())
    shown = {field.name: getattr(checked, field.name) for field in fields(checked)}
    return {**shown, "usage": usage, "ok": checked.failure is None}


def _found_words(found: "Found") -> str:
    if found.error is not None:
        return f"failed: {found.error.sentence} ({found.error.kind.value}: {found.error.detail})"
    if found.listed is None:
        return "not in a list"
    said = _listed_json(found.listed)
    words = (f"{name}={_word(value)}" for name, value in said.items() if value is not None)
    return "  ".join(words) or "listed, without limits"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _found_json(found: "Found") -> dict[str, object]:
    return {
        "name": found.name,
        "vendor": found.endpoint.vendor,
        "listed": None if found.listed is None else _listed_json(found.listed),
        "failure": None if found.error is None else found.error.detail,
    }


def _listed_json(listed: "Listed") -> dict[str, object]:
    price, retires_at = listed.price, listed.retires_at
    return {
        "context_window": listed.context_window,
        "output_max": listed.output_max,
        "thinking": listed.thinking and listed.thinking.value,
        "efforts": None if listed.efforts is None else ",".join(listed.efforts),
        "images": listed.images,
        "documents": listed.documents,
        "price": None if price is None else f"{price.input:f}/{price.output:f}",
        "retires_at": None if retires_at is None else retires_at.date().isoformat(),
    }


def _echo_json(value: object) -> None:
    import orjson

    typer.echo(orjson.dumps(value).decode())
