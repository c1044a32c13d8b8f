"""Vendors are rows, and a new wire is one file: shown by adding one of each, here."""

from datetime import datetime
from typing import Any

import orjson
import pytest

from holdfast.adapters.providers.endpoints import VENDORS, AwsKeys, Vendor, endpoint_of
from holdfast.adapters.providers.errors import incomplete
from holdfast.adapters.providers.history import prompt_of
from holdfast.adapters.providers.reply import ReplyBuilder, Slot
from holdfast.adapters.providers.shaping import encode
from holdfast.adapters.providers.transport import authorised
from holdfast.adapters.providers.types import (
    AwsAuth,
    Call,
    Decoder,
    Endpoint,
    HeaderAuth,
    NoAuth,
    Object,
    Request,
    Wire,
)
from holdfast.adapters.providers.wires import WIRES
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Part, Text
from holdfast.ports import models
from holdfast.ports.models import Event, Usage
from tests.support.model import NOW, assistant, call_for, feed, user

VALUES: dict[str, Any] = {
    "resource": "acme",
    "region": "eu-west-1",
    "project": "p-1",
    "port": "8080",
}


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=lambda vendor: vendor.name)
def test_every_vendor_speaks_a_wire_at_an_address(vendor: Vendor) -> None:
    base = None if vendor.base_url else "http://gpu.example/v1/"
    endpoint = endpoint_of(vendor, "secret-key", base_url=base, **VALUES)
    call = call_for(vendor.wire, [user("Hi")])

    request = WIRES[endpoint.wire].request(call, endpoint)
    headers = authorised(request, endpoint, NOW)

    assert "{" not in request.url
    assert request.url.startswith("http")
    assert "secret-key" in str(headers)
    assert (headers["accept-encoding"], endpoint.guarded) == ("identity", False)
    assert endpoint.secrets == ("secret-key",)


@pytest.mark.parametrize(
    ("vendor", "url", "header"),
    [
        ("anthropic", "https://api.anthropic.com/v1/messages", "x-api-key"),
        ("openai", "https://api.openai.com/v1/responses", "authorization"),
        ("azure-openai", "https://acme.openai.azure.com/openai/v1/responses", "api-key"),
        (
            "azure-anthropic",
            "https://acme.services.ai.azure.com/anthropic/v1/messages",
            "x-api-key",
        ),
        (
            "bedrock-anthropic",
            "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages",
            "authorization",
        ),
        (
            "bedrock-openai",
            "https://bedrock-mantle.eu-west-1.api.aws/openai/v1/responses",
            "authorization",
        ),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions", "authorization"),
        (
            "vertex",
            "https://eu-west-1-aiplatform.googleapis.com/v1/projects/p-1/locations/eu-west-1"
            "/publishers/google/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
            "authorization",
        ),
    ],
)
def test_addresses_and_credentials(vendor: str, url: str, header: str) -> None:
    row = VENDORS[vendor]
    endpoint = endpoint_of(row, "k" * 9, **VALUES)
    request = WIRES[row.wire].request(call_for(row.wire, [user("Hi")]), endpoint)

    assert request.url == url
    assert isinstance(endpoint.auth, HeaderAuth)
    assert endpoint.auth.name == header


def test_a_place_cannot_lead_the_credential_to_another_host() -> None:
    for value in ("evil.example/", "a.b", "", "x@y", "a/b", "-a"):
        with pytest.raises(ValueError, match="plain"):
            endpoint_of(VENDORS["azure-openai"], "k", resource=value)
    with pytest.raises(ValueError, match="base_url"):
        endpoint_of(VENDORS["vllm"])
    with pytest.raises(ValueError, match="AWS"):
        endpoint_of(VENDORS["openai"], AwsKeys("a", "s", "r"))


def test_what_a_user_set_is_guarded_and_aws_keys_sign() -> None:
    assert endpoint_of(VENDORS["vllm"], base_url="https://x.example", set_by="user").guarded
    keys = AwsKeys("AKID", "very-secret", "us-east-1", "token")
    endpoint = endpoint_of(VENDORS["bedrock-anthropic"], keys, region="us-east-1")
    assert isinstance(endpoint.auth, AwsAuth)
    assert endpoint.secrets == ("very-secret", "token")
    assert "very-secret" not in repr(endpoint)
    headers = authorised(Request(endpoint.base_url, {}, b"{}"), endpoint, NOW)
    assert headers["authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKID/20261114/us-east-1"
    )
    assert endpoint_of(VENDORS["ollama"]).auth == NoAuth()
    assert endpoint_of(VENDORS["ollama"]).secrets == ()


def test_blocks_are_not_replayed_to_a_vendor_who_cannot_read_them() -> None:
    azure = endpoint_of(VENDORS["azure-openai"], "k", **VALUES)
    assert azure.dialect == "responses:azure"
    assert endpoint_of(VENDORS["bedrock-anthropic"], "k", **VALUES).dialect == "anthropic"


def test_a_new_vendor_is_one_row() -> None:
    row = Vendor(name="new", title="New", wire="chat", base_url="https://new.example/v1")

    endpoint = endpoint_of(row, "key-1")

    request = WIRES[endpoint.wire].request(call_for("chat", [user("Hi")]), endpoint)
    assert request.url == "https://new.example/v1/chat/completions"
    assert authorised(request, endpoint, NOW)["authorization"] == "Bearer key-1"


# A new wire: everything that its one file would hold.


class EchoWire:
    name = "echo"

    def request(self, call: Call, endpoint: Endpoint) -> Request:
        entries = prompt_of(call.history, call.system, endpoint.dialect).entries
        body: Object = {"turns": [type(entry).__name__.lower() for entry in entries]}
        return Request(f"{endpoint.base_url}/echo", {}, encode(body, call, stream=True))

    def decoder(self, call: Call, endpoint: Endpoint) -> Decoder:
        return EchoDecoder()


class EchoDecoder:
    def __init__(self) -> None:
        self._reply = ReplyBuilder()
        self._slot: Slot | None = None
        self.usage = Usage()
        self.ended = self.closed = self.counted = self.thinking = False

    def feed(self, name: str, data: Object | None) -> list[Event]:
        events: list[Event] = []
        if data is None:
            self.ended = self.closed = True
            if self._slot:
                self._reply.finish_text(self._slot, None, events)
        else:
            self._slot = self._slot or self._reply.text()
            self._reply.grow(self._slot, data["say"], events)
        return events

    def final(self, now: datetime) -> models.Reply:
        if not self.ended:
            raise incomplete()
        return self._reply.final(
            now=now, ending=Ending.COMPLETE, usage=None, finish="done", response_id=None
        )

    def partial(self, now: datetime) -> tuple[Part, ...]:
        return self._reply.partial(now)


def test_a_new_wire_is_one_file() -> None:
    wire: Wire = EchoWire()
    endpoint = Endpoint(vendor="echo", wire="echo", base_url="https://echo.example")
    call: Any = call_for("chat", [user("Hi"), assistant(Text("Yes")), user("Well?")])

    request = wire.request(call, endpoint)
    decoder = wire.decoder(call, endpoint)
    feed(decoder, [b'data: {"say":"He"}\n\ndata: {"say":"llo"}\n\ndata: [DONE]\n\n'])

    assert orjson.loads(request.body) == {
        "turns": ["userentry", "modelentry", "userentry"],
        "stream": True,
    }
    assert decoder.final(NOW).parts == (Text("Hello"),)
