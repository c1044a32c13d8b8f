"""`holdfast lab simulate`: start the simulator and say where it listens."""

import asyncio
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

if TYPE_CHECKING:
    from holdfast_simulator.server import Config

RATE_DEFAULT: Final = 60.0
COLLECTED_AFTER: Final = (50_000, 20, 50)

app = typer.Typer(add_completion=False)


@app.command()
def simulate(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 4010,
    seed: Annotated[int, typer.Option(help="Same seed, same words and ids.")] = 0,
    rate: Annotated[
        float, typer.Option(help="Tokens per second; 0 is as fast as possible.", min=0)
    ] = RATE_DEFAULT,
    script: Annotated[
        Path | None, typer.Option(help="JSON file with what to answer.", exists=True)
    ] = None,
    vendor: Annotated[
        str, typer.Option("--as", help="Vendor to play at the plain paths; all are at /as/NAME.")
    ] = "",
    fault: Annotated[str, typer.Option(help="A fault for every request, by name.")] = "",
    account: Annotated[
        Literal["new", "old"],
        typer.Option(help="Anthropic: only new accounts check what thinking is bound to."),
    ] = "new",
    obeys: Annotated[
        bool,
        typer.Option("--obeys", help="Follow every instruction in tool results and prompts."),
    ] = False,
    faults: Annotated[bool, typer.Option("--faults", help="List the faults and stop.")] = False,
) -> None:
    """Play a provider on localhost: Anthropic, OpenAI and Gemini wires, no key needed."""
    if faults:
        list_faults()
        return
    # Here, not above: `holdfast --help` need not load a whole server.
    import uvloop

    from holdfast_simulator.faults import parse_fault
    from holdfast_simulator.options import Options
    from holdfast_simulator.script import read_script
    from holdfast_simulator.server import Config
    from holdfast_simulator.vendors import NAMES

    if vendor and vendor not in NAMES:
        raise typer.BadParameter(f"no vendor is named {vendor!r}; there are {', '.join(NAMES)}")
    try:
        defaults = Options(rate=rate, fault=parse_fault(fault) if fault else None)
        config = Config(
            host=host,
            port=port,
            seed=seed,
            vendor=vendor,
            defaults=defaults,
            script=read_script(script) if script else None,
            old_account=account == "old",
            obeys=obeys,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    try:
        uvloop.run(_serve(config))
    except KeyboardInterrupt:
        typer.echo("stopped")


def list_faults() -> None:
    from holdfast_simulator.faults import ABOUT

    width = max(map(len, ABOUT))
    for fault, about in ABOUT.items():
        typer.echo(f"{fault:<{width}}  {about.place:<9}  {about.line}")


async def _serve(config: "Config") -> None:
    from holdfast_simulator.server import running

    async with running(config) as simulator:
        # All that is there by now stays: the collector need not walk it again and again.
        gc.freeze()
        gc.set_threshold(*COLLECTED_AFTER)
        typer.echo(_greeting(simulator.url))
        await asyncio.Event().wait()


def _greeting(url: str) -> str:
    from holdfast_simulator.scenarios import SCENARIOS
    from holdfast_simulator.vendors import NAMES

    return f"""\
Simulator listening on {url}

  Anthropic SDK     base_url={url}
  OpenAI SDK        base_url={url}/v1
  Gemini SDK        base_url={url}
  other vendors     base_url={url}/as/NAME/v1: {", ".join(NAMES)}
  any key works; the record is at {url}/sim/requests, the bill at {url}/sim/billing
  scenarios         {", ".join(SCENARIOS)}

  curl -N {url}/v1/chat/completions -H 'authorization: Bearer any' \\
    -H 'content-type: application/json' -d '{{"model":"sim-open","stream":true,\
"messages":[{{"role":"user","content":"Hello [[sim: words=40]]"}}]}}'
"""


def main() -> None:
    app()
