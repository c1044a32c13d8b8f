"""Puts the runs together: servers for the arms, the runs, the report."""

import asyncio
import hashlib
import os
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import orjson
import typer

import holdfast_lab
from holdfast.bootstrap.edge import create_first_with_key, open_identity
from holdfast.bootstrap.options import system_sections
from holdfast.cli.dev.folder import EMAIL
from holdfast.cli.exit_codes import Exit, code_of, sentence_of
from holdfast.cli.process import say
from holdfast.domain.errors import HoldfastError
from holdfast.ports.tools import ToolSpec
from holdfast.ports.workspaces import Template
from holdfast.settings import ProcessRole, Settings, WrongSettings, read_settings
from holdfast.tasks import end_on_terminate
from holdfast.tools.workspace.toolbox import offers
from holdfast_client import AsyncClient
from holdfast_client import HoldfastError as ApiError
from holdfast_lab.bench.cell import started
from holdfast_lab.eval.arms import ArmSettings, check_names, read_arm
from holdfast_lab.eval.campaign import Campaign
from holdfast_lab.eval.page import page_of
from holdfast_lab.eval.record import EvalRun
from holdfast_lab.eval.report import KILLED, About, pass_rates, report_of, summary
from holdfast_lab.eval.runner import Budget, EvalArm
from holdfast_lab.eval.scripted import EXPECTED, write_script
from holdfast_lab.eval.server import Place, own_database, server_settings, serving
from holdfast_lab.eval.tasks import OWN_TASKS, find_tasks
from holdfast_lab.eval.verifier import Sandbox

HASH_CHARS: Final = 12
SIMULATOR: Final = "scripted-solver"
LEASES: Final = {"HOLDFAST_LEASE_TTL_S": "3", "HOLDFAST_HEARTBEAT_EVERY_S": "0.6"}
"""With kills: the next start takes over soon, so that runs do not wait most of their time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    model: str | None = None
    tasks: tuple[str, ...] = ()
    folder: Path | None = None
    runs: int = 3
    arms: tuple[str, ...] = ()
    durability: bool = False
    scripted: bool = False
    parallel: int = 4
    cost_max: float = 20.0
    floor: float | None = None
    url: str = ""
    key: str = ""
    workspaces: Path | None = None
    template: str = "local"
    sandbox: Sandbox = "bubblewrap"
    json: Path | None = None
    html: Path | None = None


def measured(wish: Wish) -> None:
    """Raises `typer.Exit` with the code that says how it went, if not well."""
    try:
        report = asyncio.run(_run(wish))
    except (HoldfastError, WrongSettings) as reason:
        say(str(reason))
        raise typer.Exit(Exit.FAILED) from None
    except ApiError as refused:
        say(sentence_of(refused))
        raise typer.Exit(code_of(refused)) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(Exit.INTERRUPTED) from None
    typer.echo("\n".join(summary(report)))
    if wish.json is not None:
        wish.json.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2) + b"\n")
    if wish.html is not None:
        wish.html.write_text(page_of(report), encoding="utf-8")
    below = {name: rate for name, rate in pass_rates(report).items() if rate < (wish.floor or 0)}
    for name, rate in below.items():
        say(f"{name}: pass@1 {rate:.1%} is below the floor of {wish.floor:.1%}.")
    if below:
        raise typer.Exit(Exit.FAILED)


async def _run(wish: Wish) -> dict[str, Any]:
    end_on_terminate()
    wanted = wish.tasks or (tuple(EXPECTED) if wish.scripted else ())
    tasks = find_tasks(wish.folder or OWN_TASKS, wanted)
    settings = [ArmSettings(), *(read_arm(each, Settings.model_fields) for each in wish.arms)]
    check_names(settings)
    with tempfile.TemporaryDirectory(prefix="holdfast-eval-") as name:
        folder = Path(name)
        await asyncio.to_thread(folder.chmod, 0o711)
        async with _arms(wish, settings, folder) as arms:
            campaign = Campaign(
                tasks=tasks,
                arms=arms,
                runs=wish.runs,
                parallel=wish.parallel,
                budget=Budget(wish.cost_max),
                sandbox=wish.sandbox,
            )
            await campaign.run(_tell)
    return report_of(campaign, _about(wish, settings, campaign.ended))


def _tell(run: EvalRun, ended: int, wanted: int) -> None:
    why = f": {run.error}" if run.error else ""
    say(
        f"[{ended}/{wanted}] {run.task} {run.number} ({run.arm}): reward {run.reward:g},"
        f" {run.ending}, {run.activity.replies} replies, {run.wall_s:.0f} s{why}"
    )


@asynccontextmanager
async def _arms(
    wish: Wish, settings: Sequence[ArmSettings], folder: Path
) -> AsyncGenerator[list[EvalArm]]:
    if wish.url:
        assert wish.workspaces is not None
        place = Place(
            url=wish.url, key=wish.key, template=wish.template, workspaces=wish.workspaces
        )
        async with AsyncClient(wish.url, api_key=wish.key) as client:
            _check_model(wish.model, [each.id for each in await client.models.list()])
        yield [EvalArm(name=settings[0].name, place=place, model=wish.model)]
        return
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(_models(wish, folder))
        arms: list[EvalArm] = []
        for each in settings:
            read = read_settings(**_given(each, models))
            if not read.models:
                raise WrongSettings(
                    "No model is configured: set HOLDFAST_MODELS or HOLDFAST_MODELS_FILE, or try"
                    " --scripted."
                )
            _check_model(wish.model, [model.name for model in read.models])
            for kills in (False, True)[: 1 + wish.durability]:
                number = len(arms)
                leases = LEASES if kills else {}
                place = await stack.enter_async_context(
                    _server(wish, {**leases, **models, **each.environment}, folder / str(number))
                )
                arms.append(
                    EvalArm(
                        name=each.name + KILLED * kills,
                        place=place,
                        model=wish.model,
                        prompt_hash=prompt_hash(read),
                        commit=commit(),
                        kills=kills,
                    )
                )
        yield arms


def _check_model(model: str | None, known: Sequence[str]) -> None:
    """Raises `WrongSettings`."""
    if model is not None and model not in known:
        raise WrongSettings(f"There is no model {model!r}: there are {', '.join(known)}.")


def _given(arm: ArmSettings, models: dict[str, str]) -> dict[str, Any]:
    """For `read_settings`: what the server of an arm will read from its environment."""
    given = {name.removeprefix("HOLDFAST_").lower(): value for name, value in models.items()}
    listed = {name: orjson.loads(value) for name, value in given.items()}
    return {**listed, **arm.given}


@asynccontextmanager
async def _models(wish: Wish, folder: Path) -> AsyncGenerator[dict[str, str]]:
    """The setting that names the scripted solver; else none, and the user's own hold."""
    if not wish.scripted:
        yield {}
        return
    script = await asyncio.to_thread(write_script, folder)
    command = ("holdfast", "lab", "simulate", "--port", "0", "--rate", "0", "--script", str(script))
    async with started(command, {}, folder / "simulator.log") as simulator:
        model = {
            "name": SIMULATOR,
            "vendor": "simulator-anthropic",
            "model": "claude-sonnet-5",
            "base_url": simulator.url,
            "api_key": "any",
        }
        yield {"HOLDFAST_MODELS": orjson.dumps([model]).decode()}


@asynccontextmanager
async def _server(wish: Wish, settings: dict[str, str], folder: Path) -> AsyncGenerator[Place]:
    async with own_database(folder) as url:
        async with open_identity(read_settings(database_url=url, role=ProcessRole.API)) as identity:
            first = await create_first_with_key(
                identity,
                organisation="Eval",
                email=EMAIL,
                password="used by this run only",  # noqa: S106 - a server that lives for hours
                name="Eval",
            )
        assert first is not None, "the database is new"
        workspaces = folder / "w"
        await asyncio.to_thread(workspaces.mkdir)
        # The user's own: models and their keys, credentials of clouds, a proxy.
        environment = {**os.environ, **settings}  # noqa: TID251 - passed on to the server
        given = server_settings(
            environment, database_url=url, workspaces=workspaces, sandbox=wish.sandbox
        )
        async with serving(given, first.key.secret, workspaces, folder) as place:
            yield place


def _about(wish: Wish, settings: Sequence[ArmSettings], runs: Sequence[EvalRun]) -> About:
    answered = next((run.model for run in runs if run.model), "")
    return About(
        at=datetime.now(UTC),  # noqa: TID251 - of the report
        version=metadata.version("holdfast"),
        commit=commit(),
        model=wish.model or answered,
        settings={each.name: each.shown for each in settings},
        scripted=wish.scripted,
    )


def prompt_hash(settings: Settings) -> str:
    """Of what a model is told before the chat: the system prompt and the tools of a workspace."""
    system, by_wire = system_sections(settings)
    tools = [_spec(each.spec) for each in offers((Template(name="eval"),))]
    told = orjson.dumps([system, dict(by_wire), tools], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(told).hexdigest()[:HASH_CHARS]


def _spec(spec: ToolSpec) -> list[Any]:
    return [spec.name, spec.description, orjson.loads(orjson.dumps(spec.schema, default=dict))]


def commit() -> str:
    """Of the checkout that is installed; empty if there is none."""
    source = Path(next(iter(holdfast_lab.__path__)))
    said = subprocess.run(  # noqa: S603 - a path of our own
        ("git", "-C", str(source), "rev-parse", "--short=12", "HEAD"),  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip()
