"""`holdfast models check` and `discover`, against a simulator and a provider that refuses."""

import asyncio
from typing import Any

import orjson
import pytest
from click.testing import Result
from typer.testing import CliRunner

from holdfast.cli.app import app
from holdfast_simulator.server import Config, Simulator, running

SAFE_S = 50.0


def models_of(url: str) -> list[dict[str, str]]:
    claude = {"vendor": "simulator-anthropic", "base_url": url, "api_key": "a-key"}
    return [
        {**claude, "name": "sonnet", "model": "claude-sonnet-5"},
        {**claude, "name": "lost", "model": "no-such-model"},
        {"name": "local", "vendor": "ollama", "model": "qwen3", "base_url": f"{url}/v1"},
    ]


async def invoked(simulator: Simulator, *arguments: str, **env: str) -> Result:
    given = orjson.dumps(models_of(simulator.url)).decode()
    async with asyncio.timeout(SAFE_S):
        return await asyncio.to_thread(
            CliRunner().invoke, app, ["models", *arguments], env={"HOLDFAST_MODELS": given, **env}
        )


async def told(simulator: Simulator, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    result = await invoked(simulator, *arguments, "--json")
    return result.exit_code, {each["name"]: each for each in orjson.loads(result.stdout)}


async def test_check_asks_each_model_and_says_what_failed() -> None:
    async with running(Config()) as simulator:
        code, by_name = await told(simulator, "check")
        asked = [entry.body for entry in simulator.record if entry.body]
    assert code == 1
    sonnet, lost = by_name["sonnet"], by_name["lost"]
    assert (sonnet["ok"], sonnet["status"], sonnet["failure"]) == (True, 200, None)
    assert sonnet["request_id"]
    assert sonnet["usage"]["input"] > 0
    assert sonnet["cost_micros"] > 0
    assert sonnet["took_s"] >= sonnet["first_part_s"] > 0
    assert (lost["ok"], lost["status"]) == (False, 404)
    assert "no-such-model" in lost["failure"]
    assert lost["request_id"]
    assert all(len(body["tools"]) == 1 for body in asked)


async def test_check_of_one_model_says_so_in_a_line() -> None:
    async with running(Config()) as simulator:
        result = await invoked(simulator, "check", "sonnet")
        failed = await invoked(simulator, "check", "lost")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert "200" in result.stdout
    assert "$" in result.stdout
    assert "no-such-model" in failed.stdout


async def test_discover_shows_what_the_lists_say() -> None:
    async with running(Config()) as simulator:
        code, by_name = await told(simulator, "discover")
        words = await invoked(simulator, "discover", "sonnet", "lost")
    assert code == 0
    assert by_name["sonnet"]["listed"]["context_window"] == 1_000_000
    assert by_name["sonnet"]["listed"]["efforts"] == "low,medium,high,xhigh,max"
    assert by_name["lost"]["listed"] is None
    assert by_name["local"]["listed"]["context_window"] == 16_384
    assert "context_window=1000000" in words.stdout
    assert "not in a list" in words.stdout


async def test_discover_says_why_a_list_cannot_be_read() -> None:
    models = [{"name": "m", "vendor": "vllm", "base_url": "http://127.0.0.1:1/v1"}]
    result = await asyncio.to_thread(
        CliRunner().invoke,
        app,
        ["models", "discover"],
        env={"HOLDFAST_MODELS": orjson.dumps(models).decode()},
    )
    assert result.exit_code == 1
    assert "failed: VLLM" in result.stdout or "no connection" in result.stdout


@pytest.mark.parametrize("command", ["check", "discover"])
async def test_wrong_names_and_settings_are_said(command: str) -> None:
    async with running(Config()) as simulator:
        unknown = await invoked(simulator, command, "nope")
        no_prices = await invoked(simulator, "check", HOLDFAST_PRICES_FILE="/nowhere.json")
    assert (unknown.exit_code, no_prices.exit_code) == (2, 2)
    assert "no model named nope" in unknown.stderr
    assert "HOLDFAST_PRICES_FILE: /nowhere.json cannot be read" in no_prices.stderr
