"""Where tokens come from: a file, a program, or the credential library of a cloud.

The libraries of Google, Microsoft and AWS are optional and loaded when the first token is needed.
They block, so they run in a thread. Each call builds its credential chain anew: it happens about
once an hour, and a token that the provider refused is never served again from a cache.
"""

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import orjson

from holdfast.adapters.providers.endpoints import AwsKeys
from holdfast.adapters.providers.errors import redact
from holdfast.adapters.providers.tokens import Token, TokenFailed

OUTPUT_BYTES_MAX: Final = 64 * 1024
SOURCE_S: Final = 30.0
GOOGLE_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
AZURE_SCOPE: Final = "https://ai.azure.com/.default"
_STDERR_CHARS_MAX: Final = 300
_REST_S: Final = 1.0
"""For what stands in the pipes when the program has ended."""
_TOKEN: Final = re.compile(r"[!-~]{1,16384}")
_VALUE_NAMES: Final = ("token", "access_token", "accessToken", "id_token")
_END_NAMES: Final = ("expires_at", "expires_on", "expiry", "expiration")
_EPOCH_TEXT: Final = re.compile(r"\d{9,11}(\.\d+)?")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommandTokens:
    """A program that prints a token, or a JSON object with the token and its end."""

    argv: tuple[str, ...]
    timeout_s: float = SOURCE_S

    async def token(self, now: datetime) -> Token:
        program = f"the token program {os.path.basename(self.argv[0])!r}"
        try:
            async with asyncio.timeout(self.timeout_s):
                status, out, err = await _run(self.argv)
        except TimeoutError:
            detail = f"{program} did not end within {self.timeout_s:g} s"
            raise TokenFailed(detail, passing=True) from None
        except OSError as error:
            raise TokenFailed(f"{program} did not start: {error.strerror}") from None
        if len(out) > OUTPUT_BYTES_MAX:
            raise TokenFailed(f"{program} printed more than {OUTPUT_BYTES_MAX} bytes")
        if status != 0:
            said = redact(err.decode("utf-8", "replace").strip()[-_STDERR_CHARS_MAX:])
            raise TokenFailed(f"{program} ended with status {status}: {said or 'no message'}")
        try:
            return printed_token(out, now)
        except ValueError as error:
            raise TokenFailed(f"{program} {error}") from None


def printed_token(out: bytes, now: datetime) -> Token:
    """What a program printed. ValueError says what is wrong without quoting it."""
    text = out.decode("utf-8", "replace").strip()
    if not text.startswith("{"):
        return _checked(text), None
    try:
        found: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ValueError("printed an object that is not JSON") from None
    value = next((found[name] for name in _VALUE_NAMES if found.get(name)), None)
    return _checked(value), _end(cast("dict[str, object]", found), now)


def _checked(value: object) -> str:
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise ValueError("printed no token: one word of printable ASCII is expected")
    return value


def _end(found: Mapping[str, object], now: datetime) -> datetime | None:
    """Seconds from now, seconds since 1970, or an ISO time with its offset."""
    try:
        if (lives := found.get("expires_in")) is not None:
            return now + timedelta(seconds=float(str(lives)))
        at = next((found[name] for name in _END_NAMES if found.get(name)), None)
        if at is None:
            return None
        if _EPOCH_TEXT.fullmatch(str(at)):
            return datetime.fromtimestamp(float(str(at)), UTC)
        end = datetime.fromisoformat(str(at))
    except (ValueError, OverflowError, OSError):
        raise ValueError("printed an end that is neither seconds nor an ISO time") from None
    if end.tzinfo is None:
        raise ValueError("printed an end without its offset from UTC")
    return end


async def _run(argv: tuple[str, ...]) -> tuple[int, bytes, bytes]:
    """The program's status and the beginning of its output; its process group never outlives it."""
    async with _pipe() as out, _pipe() as err:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out.write_fd,
            stderr=err.write_fd,
            start_new_session=True,
        )
        out.close_write_end()
        err.close_write_end()
        try:
            # Whichever is first: a process that the program left behind may hold the pipe open.
            await asyncio.wait({out.ended, err.ended}, return_when=asyncio.FIRST_COMPLETED)
            if len(out.kept) <= OUTPUT_BYTES_MAX:
                await process.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        await asyncio.wait({out.ended, err.ended}, timeout=_REST_S)
        assert process.returncode is not None
        return process.returncode, bytes(out.kept), bytes(err.kept)


class _Beginning(asyncio.Protocol):
    """The beginning of what a program prints: one byte more than may be, then no more is read."""

    def __init__(self, write_fd: int) -> None:
        self.write_fd = write_fd
        self.kept = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        self.kept += data[: OUTPUT_BYTES_MAX + 1 - len(self.kept)]
        if len(self.kept) > OUTPUT_BYTES_MAX:
            self._end()

    def connection_lost(  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        self,
        exc: Exception | None,  # noqa: ARG002
    ) -> None:
        self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def close_write_end(self) -> None:
        if self.write_fd >= 0:
            os.close(self.write_fd)
        self.write_fd = -1


@asynccontextmanager
async def _pipe() -> AsyncGenerator[_Beginning]:
    """A pipe, closed at the end even if another process still holds its other end."""
    read_fd, write_fd = os.pipe()
    beginning = _Beginning(write_fd)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: beginning, os.fdopen(read_fd, "rb", buffering=0)
    )
    try:
        yield beginning
    finally:
        beginning.close_write_end()
        transport.close()


@dataclass(frozen=True, slots=True)
class FileKey:
    """A file with a key. It is read again after a refusal, so that a key can be replaced."""

    path: Path

    async def token(self, now: datetime) -> Token:  # noqa: ARG002 - a file says nothing of an end
        try:
            text = await asyncio.to_thread(self.path.read_text)
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise TokenFailed(f"the file of the key cannot be read: {why}", passing=True) from None
        try:
            return _checked(text.strip()), None
        except ValueError:
            raise TokenFailed("the file of the key holds no key", passing=True) from None


# The clouds.


@dataclass(frozen=True, slots=True)
class GoogleTokens:
    """Application default credentials, workload identity among them; or a service account's key."""

    key_file: str | None = None
    scope: str = GOOGLE_SCOPE

    async def token(self, now: datetime) -> Token:  # noqa: ARG002 - the library has its own clock
        return await _in_thread(self._token, "google", "google-auth")

    def _token(self) -> Token:
        import google.auth
        import google.auth.exceptions
        from google.auth.transport.requests import Request
        from google.oauth2 import service_account

        library, request = cast(Any, google.auth), Request()
        try:
            if self.key_file is None:
                credentials, _ = library.default(scopes=[self.scope])
            else:
                account = cast(Any, service_account.Credentials)
                credentials = account.from_service_account_file(self.key_file, scopes=[self.scope])
            credentials.refresh(request)
        except google.auth.exceptions.TransportError as error:
            raise TokenFailed(redact(f"Google cannot be reached: {error}"), passing=True) from None
        except (google.auth.exceptions.GoogleAuthError, ValueError, OSError) as error:
            raise TokenFailed(redact(f"Google: {error}")) from None
        finally:
            cast(Any, request).session.close()
        end: datetime | None = credentials.expiry
        return str(credentials.token), None if end is None else end.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AzureTokens:
    """Entra ID: environment, workload identity, managed identity, or a developer's sign-in."""

    scope: str = AZURE_SCOPE

    async def token(self, now: datetime) -> Token:  # noqa: ARG002 - the library has its own clock
        return await _in_thread(self._token, "azure", "azure-identity")

    def _token(self) -> Token:
        from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError
        from azure.identity import DefaultAzureCredential

        try:
            with DefaultAzureCredential() as chain:
                found = chain.get_token(self.scope)
        except (ServiceRequestError, ServiceResponseError) as error:
            detail = redact(f"Microsoft Entra ID cannot be reached: {error}")
            raise TokenFailed(detail, passing=True) from None
        except AzureError as error:
            raise TokenFailed(redact(f"Microsoft Entra ID: {error}")) from None
        return found.token, datetime.fromtimestamp(found.expires_on, UTC)


@dataclass(frozen=True, slots=True)
class AwsTokens:
    """The chain of AWS: environment, profile, single sign-on, web identity, container, instance."""

    region: str
    profile: str | None = None

    async def token(self, now: datetime) -> Token:  # noqa: ARG002 - the library has its own clock
        return await _in_thread(self._token, "aws", "botocore")

    def _token(self) -> Token:
        import botocore.exceptions  # pyright: ignore[reportMissingTypeStubs] - it ships no types
        import botocore.session  # pyright: ignore[reportMissingTypeStubs]

        library, errors = cast(Any, botocore.session), cast(Any, botocore.exceptions)
        try:
            found = library.Session(profile=self.profile).get_credentials()
            if found is None:
                raise TokenFailed("AWS: no credentials were found on this machine")
            keys = found.get_frozen_credentials()
        except errors.HTTPClientError as error:
            raise TokenFailed(redact(f"AWS cannot be reached: {error}"), passing=True) from None
        except (errors.BotoCoreError, errors.ClientError) as error:
            raise TokenFailed(redact(f"AWS: {error}")) from None
        end: datetime | None = getattr(found, "_expiry_time", None)  # set where they are renewed
        return AwsKeys(keys.access_key, keys.secret_key, self.region, keys.token), end


async def _in_thread(ask: Callable[[], T], extra: str, library: str) -> T:
    try:
        async with asyncio.timeout(SOURCE_S):
            return await asyncio.to_thread(ask)
    except TimeoutError:
        raise TokenFailed(f"{library} gave no token within {SOURCE_S:g} s", passing=True) from None
    except ModuleNotFoundError:
        detail = f"{library} is not installed: install holdfast[{extra}]"
        raise TokenFailed(detail) from None
