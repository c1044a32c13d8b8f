"""Each token source against the real thing: programs, and the clouds' libraries with local servers
in place of the clouds."""

import builtins
import os
import stat
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from holdfast.adapters.providers.endpoints import AwsKeys
from holdfast.adapters.providers.token_sources import (
    OUTPUT_BYTES_MAX,
    AwsTokens,
    AzureTokens,
    CommandTokens,
    GoogleTokens,
    printed_token,
)
from holdfast.adapters.providers.tokens import TokenFailed, TokenSource
from tests.support.model import NOW
from tests.support.servers import Peer, answer, serving
from tests.support.stage import until

CANARY = "canary-4711-canary"


def program(code: str, **options: Any) -> CommandTokens:
    return CommandTokens((sys.executable, "-c", code), **options)


@pytest.mark.parametrize(
    ("printed", "token"),
    [
        (b"abc\n", ("abc", None)),
        (b'{"token": "abc"}', ("abc", None)),
        (b'{"access_token": "abc", "expires_in": 3600}', ("abc", NOW + timedelta(hours=1))),
        (b'{"token": "abc", "expires_at": "2026-11-14T13:00:00Z"}', ("abc", NOW.replace(hour=13))),
        (
            b'{"accessToken": "abc", "expires_on": 1767225600,'
            b' "expiresOn": "2026-01-01 01:00:00.000000"}',
            ("abc", datetime(2026, 1, 1, tzinfo=UTC)),
        ),
    ],
)
def test_a_program_prints_a_token_or_an_object(printed: bytes, token: Any) -> None:
    assert printed_token(printed, NOW) == token


@pytest.mark.parametrize(
    ("printed", "wrong"),
    [
        (b"", "printed no token"),
        (b"canary 4711", "printed no token"),
        (b'{"token": "canary", "expires_at": "canary"}', "printed an end that is neither"),
        (b'{"token": "canary", "expires_at": "2026-01-01T00:00:00"}', "without its offset"),
        (b'{"canary": "4711"}', "printed no token"),
        (b'{"canary', "not JSON"),
    ],
)
def test_what_is_no_token_is_refused_and_not_quoted(printed: bytes, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong) as caught:
        printed_token(printed, NOW)
    assert "canary" not in str(caught.value)


async def test_a_program_runs_and_its_token_is_taken() -> None:
    source = program('print(\'{"token": "abc", "expires_in": 60}\')')
    assert await source.token(NOW) == ("abc", NOW + timedelta(minutes=1))


@pytest.mark.parametrize(
    ("source", "detail", "passing"),
    [
        (
            program(f"import sys; sys.exit('api_key={CANARY}: not signed in')"),
            "ended with status 1: api_key=[redacted] not signed in",
            False,
        ),
        (program("import time; time.sleep(600)", timeout_s=0.5), "did not end within 0.5 s", True),
        (
            program("while True: print('a' * 1000)"),
            f"printed more than {OUTPUT_BYTES_MAX} bytes",
            False,
        ),
        (CommandTokens(("/no/such/program",)), "'program' did not start: No such file", False),
        (program("print('two words')"), "printed no token", False),
    ],
    ids=["status", "hangs", "endless", "missing", "no token"],
)
async def test_a_program_that_fails_is_named(
    source: CommandTokens, detail: str, passing: bool
) -> None:
    with pytest.raises(TokenFailed) as caught:
        await source.token(NOW)
    assert detail in str(caught.value)
    assert caught.value.passing is passing
    assert CANARY not in str(caught.value)


def is_alive(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


async def test_a_program_that_hangs_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    child = "import time; time.sleep(600)"
    code = (
        "import os, subprocess, sys, pathlib;"
        f"p = subprocess.Popen([sys.executable, '-c', {child!r}]);"
        f"pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{p.pid}}');"
        "p.wait()"
    )
    source = program(code, timeout_s=5.0)
    with pytest.raises(TokenFailed):
        await source.token(NOW)
    # The kernel ends what was killed a moment later.
    await until(lambda: not any(is_alive(pid) for pid in pids.read_text().split()))


# The clouds.


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No credential of this machine, and no proxy on the way to a local server."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "IDENTITY_", "MSI_")):
            monkeypatch.delenv(name)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


async def say(peer: Peer, body: Mapping[str, str | int]) -> None:
    head = ("content-type: application/json", "connection: close")
    await peer.send(answer("200 OK", orjson.dumps(body), *head))
    peer.writer.close()


async def test_google_a_service_account_gives_a_token(
    bare: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[dict[str, list[str]]] = []

    async def oauth(peer: Peer) -> None:
        asked.append(parse_qs(peer.body.decode()))
        await say(peer, {"access_token": "ya29.abc", "expires_in": 3599, "token_type": "Bearer"})

    async with serving(oauth) as server:
        file = tmp_path / "key.json"
        file.write_bytes(service_account(server.url))
        begun = datetime.now(UTC)
        for source in (GoogleTokens(key_file=str(file)), GoogleTokens()):
            bare.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
            token, end = await source.token(NOW)
            assert token == "ya29.abc"
            assert end is not None
            assert timedelta(minutes=50) < end - begun < timedelta(minutes=70)
        assert {grant["grant_type"][0] for grant in asked} == {
            "urn:ietf:params:oauth:grant-type:jwt-bearer"
        }

    with pytest.raises(TokenFailed) as caught:
        await GoogleTokens(key_file=str(file)).token(NOW)
    assert "Google cannot be reached" in str(caught.value)
    assert caught.value.passing


def service_account(url: str) -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return orjson.dumps(
        {
            "type": "service_account",
            "project_id": "p",
            "private_key_id": "1",
            "private_key": pem.decode(),
            "client_email": "a@p.iam.gserviceaccount.com",
            "token_uri": f"{url}/token",
        }
    )


async def test_google_a_file_that_is_no_key_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    file.write_text("{}")
    with pytest.raises(TokenFailed, match="Google: "):
        await GoogleTokens(key_file=str(file)).token(NOW)


async def test_azure_a_managed_identity_gives_a_token(bare: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    end = int(datetime.now(UTC).timestamp()) + 3600

    async def identity(peer: Peer) -> None:
        path = peer.head.decode().split(" ")[1]
        asked.extend(parse_qs(urlsplit(path).query).get("resource", []))
        await say(peer, {"access_token": "eyJabc", "expires_on": str(end), "token_type": "Bearer"})

    async with serving(identity) as server:
        bare.setenv("IDENTITY_ENDPOINT", f"{server.url}/msi/token")
        bare.setenv("IDENTITY_HEADER", "h")
        token, until = await AzureTokens().token(NOW)
        assert token == "eyJabc"
        assert until is not None
        assert abs(until.timestamp() - end) <= 5
        await AzureTokens(scope="https://cognitiveservices.azure.com/.default").token(NOW)
    assert asked == ["https://ai.azure.com", "https://cognitiveservices.azure.com"]


async def test_aws_a_container_role_gives_keys_that_end(bare: pytest.MonkeyPatch) -> None:
    end = datetime(2099, 1, 1, tzinfo=UTC)

    async def container(peer: Peer) -> None:
        keys = {
            "AccessKeyId": "AKID",
            "SecretAccessKey": "s",
            "Token": "t",
            "Expiration": end.isoformat(),
        }
        await say(peer, keys)

    async with serving(container) as server:
        bare.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/role")
        bare.setenv("AWS_EC2_METADATA_DISABLED", "true")
        found = await AwsTokens(region="eu-west-1").token(NOW)
    assert found == (AwsKeys("AKID", "s", "eu-west-1", "t"), end)


async def test_aws_a_profile_gives_keys_and_what_is_missing_is_named(
    bare: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(TokenFailed, match="no credentials were found"):
        await AwsTokens(region="r").token(NOW)
    with pytest.raises(TokenFailed, match=r"AWS: The config profile \(work\) could not be found"):
        await AwsTokens(region="r", profile="work").token(NOW)
    file = tmp_path / "credentials"
    file.write_text("[work]\naws_access_key_id = AKID\naws_secret_access_key = s\n")
    file.chmod(stat.S_IRUSR)
    bare.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    found = await AwsTokens(region="r", profile="work").token(NOW)
    assert found == (AwsKeys("AKID", "s", "r"), None)


@pytest.mark.parametrize(
    ("source", "library", "sentence"),
    [
        (GoogleTokens(), "google", "google-auth is not installed: install holdfast[google]"),
        (AzureTokens(), "azure", "azure-identity is not installed: install holdfast[azure]"),
        (AwsTokens("r"), "botocore", "botocore is not installed: install holdfast[aws]"),
    ],
)
async def test_a_missing_library_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, source: TokenSource, library: str, sentence: str
) -> None:
    load = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ModuleNotFoundError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TokenFailed) as caught:
        await source.token(NOW)
    assert str(caught.value) == sentence
