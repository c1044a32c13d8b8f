"""A setting that a provider rejects is left out, and the call goes through (L41)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from uuid import uuid4

import orjson
import pytest

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.left_out import REJECTED_MAX
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.transport import open_transport
from holdfast.domain.ids import ChatId
from holdfast.ports.models import Ask
from tests.requirements import requirement
from tests.support.model import NOW, endpoint_for, recording, user
from tests.support.servers import LAST, OK, Peer, answer, chunk, serving

UNVERIFIED: Final = {
    "message": "Your organization must be verified to generate reasoning summaries. Please go to:"
    " https://platform.openai.com/settings/organization/general and click on Verify Organization.",
    "type": "invalid_request_error",
    "param": "reasoning.summary",
    "code": "unsupported_value",
}


@dataclass
class Refuser:
    """A provider that refuses some fields in the words of the real one, and else answers."""

    wire: str
    refusals: Mapping[str, Mapping[str, Any]]
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def __call__(self, peer: Peer) -> None:
        body: dict[str, Any] = orjson.loads(peer.body)
        self.bodies.append(body)
        for path, error in self.refusals.items():
            if _has(body, path):
                said = orjson.dumps({"type": "error", "error": error})
                await peer.send(answer("400 Bad Request", said, "content-type: application/json"))
                return
        await peer.send(OK + chunk(recording(f"{self.wire}-1")) + LAST)


def _has(body: Mapping[str, Any], path: str) -> bool:
    value: Any = body
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return False
        value = cast(dict[str, Any], value)[key]
    return True


MODELS: Final = {
    "anthropic": "claude-sonnet-5",
    "responses": "gpt-5.6-sol",
    "chat": "gpt-5.6-sol",
    "gemini": "gemini-3.5-flash",
}
INVALID: Final = "invalid_request_error"
REJECTED: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "summary of an unverified organisation": ("responses", "reasoning.summary", UNVERIFIED),
    "effort of the responses wire": (
        "responses",
        "reasoning.effort",
        {
            "message": "Unsupported value: 'reasoning.effort' does not support 'high' with this"
            " model.",
            "type": INVALID,
            "param": "reasoning.effort",
            "code": "unsupported_value",
        },
    ),
    "effort of the chat wire": (
        "chat",
        "reasoning_effort",
        {"message": "Unsupported parameter: 'reasoning_effort'", "type": INVALID},
    ),
    "usage option": (
        "chat",
        "stream_options",
        {"message": "body.stream_options: Extra inputs are not permitted", "type": INVALID},
    ),
    "effort of Anthropic": (
        "anthropic",
        "output_config.effort",
        {"message": "output_config.effort: Extra inputs are not permitted", "type": INVALID},
    ),
    "thinking of Anthropic": (
        "anthropic",
        "thinking",
        {"message": "adaptive thinking is not supported on this model", "type": INVALID},
    ),
    "thinking of Gemini": (
        "gemini",
        "generationConfig.thinkingConfig",
        {
            "code": 400,
            "message": "Thinking level is not supported for this model.",
            "status": "INVALID_ARGUMENT",
        },
    ),
}


def ask() -> Ask:
    return Ask(chat_id=ChatId(uuid4()), model="m", history=[user("Hi")], effort="high")


async def asked(refuser: Refuser, times: int = 1) -> None:
    facts = facts_of(VENDORS[f"simulator-{refuser.wire}"], MODELS[refuser.wire])
    async with serving(refuser) as server, open_transport(lambda: NOW) as transport:
        endpoint = endpoint_for(refuser.wire, base_url=server.url)
        models = ConfiguredModels(
            transport, ModelRegistry({"m": ModelConfig(endpoint=endpoint, facts=facts)})
        )
        for _ in range(times):
            async with models.stream(ask()) as stream:
                async for _ in stream:
                    pass
            assert stream.final is not None


@requirement("L41")
@pytest.mark.parametrize("case", REJECTED)
async def test_a_rejected_setting_is_left_out_and_remembered(case: str) -> None:
    wire, path, error = REJECTED[case]
    refuser = Refuser(wire, {path: error})

    await asked(refuser, times=2)

    assert [_has(body, path) for body in refuser.bodies] == [True, False, False]


async def test_several_settings_are_left_out_one_at_a_time() -> None:
    refuser = Refuser(
        "responses", {path: error for wire, path, error in REJECTED.values() if wire == "responses"}
    )

    await asked(refuser)

    assert len(refuser.bodies) == 3
    assert "reasoning" not in refuser.bodies[-1]


async def test_a_provider_that_rejects_everything_is_not_asked_for_ever() -> None:
    paths = ("reasoning.summary", "reasoning.effort", "include", "prompt_cache_key")
    said = {
        path: {"message": f"Unsupported parameter: '{path}'", "type": INVALID, "param": path}
        for path in paths
    }
    said["store"] = {"message": "Unsupported parameter: 'store'", "type": INVALID}
    refuser = Refuser("responses", said)

    with pytest.raises(ProviderError) as failed:
        await asked(refuser)

    assert not failed.value.retryable
    assert len(refuser.bodies) <= REJECTED_MAX + 1


async def test_an_error_of_the_history_leaves_no_setting_out() -> None:
    words = "messages.1.content.0.thinking: Extra inputs are not permitted"
    refuser = Refuser("anthropic", {"messages": {"message": words, "type": INVALID}})

    with pytest.raises(ProviderError):
        await asked(refuser)

    assert len(refuser.bodies) == 1
