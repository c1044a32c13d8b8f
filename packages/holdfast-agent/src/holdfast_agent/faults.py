"""What the agent says when it does not do what was asked: one code, one HTTP status, one sentence.

Everything below the routes raises `Refused`; the middleware is the only place that knows HTTP.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from aiohttp import web
from pydantic import ValidationError

from holdfast_agent.wire import Fault, FaultCode

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

STATUS: Final[Mapping[FaultCode, int]] = MappingProxyType(
    {
        FaultCode.BAD_REQUEST: 400,
        FaultCode.UNAUTHORIZED: 401,
        FaultCode.NO_SHELL: 403,
        FaultCode.OUTSIDE: 403,
        FaultCode.NOT_FOUND: 404,
        FaultCode.KEY_TAKEN: 409,
        FaultCode.STOPPED: 409,
        FaultCode.CONFLICT: 409,
        FaultCode.NOT_RUNNING: 409,
        FaultCode.TOO_LARGE: 413,
        FaultCode.TOO_MANY: 429,
        FaultCode.FAILED: 500,
    }
)
_LOG: Final = logging.getLogger(__name__)


class Refused(Exception):
    """What was asked is not done. The message is for the model and for people."""

    def __init__(self, code: FaultCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@web.middleware
async def faults_told(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn `Refused` into its answer, and an unexpected exception into `failed` with an id that the
    agent's log has beside the traceback."""
    try:
        return await handler(request)
    except Refused as refused:
        return fault_answer(refused.code, refused.message)
    except ValidationError as error:
        return fault_answer(FaultCode.BAD_REQUEST, _first_mistake(error))
    except web.HTTPRequestEntityTooLarge:
        return fault_answer(FaultCode.TOO_LARGE, "The request is too large for this agent.")
    except web.HTTPException as other:
        # What aiohttp itself says no to: an unknown route, a method that a route does not know.
        code = FaultCode.NOT_FOUND if other.status == STATUS[FaultCode.NOT_FOUND] else None
        message = f"{request.method} {request.path}: {other.reason}."
        return fault_answer(code or FaultCode.BAD_REQUEST, message)
    except Exception:  # noqa: BLE001 - told and logged; the agent lives on
        told = secrets.token_hex(4)
        _LOG.exception("agent: request failed (%s): %s %s", told, request.method, request.path)
        message = f"The workspace agent failed; its log says why at {told}. Trying again may help."
        return fault_answer(FaultCode.FAILED, message)


def fault_answer(code: FaultCode, message: str) -> web.Response:
    body = Fault(code=code, message=message).model_dump_json()
    return web.Response(status=STATUS[code], body=body.encode(), content_type="application/json")


def _first_mistake(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place}: {first['msg']}." if place else f"{first['msg']}."
