"""The errors that a fault can ask for, in the words of each API."""

from collections.abc import Mapping
from typing import Final

from holdfast_simulator.jsons import JsonList
from holdfast_simulator.wires.base import Rejection, Trouble

INVALID: Final = "invalid_request_error"
TOO_LONG: Final = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)
LIMIT: Final = (
    "Request too large for this model on tokens per min (TPM): Limit 30000, Requested 45000. The "
    "input or output tokens must be reduced in order to run successfully."
)
TOOL_USE: Final = "Failed to call a function. See 'failed_generation' for what was generated."
SUMMARY: Final = "Your organization must be verified to generate reasoning summaries."
STREAM_OPTIONS: Final = "body.stream_options: Extra inputs are not permitted"
CAPACITY: Final = "Flex tier capacity exceeded. Please try again later."


def _anthropic(status: int, kind: str, message: str) -> Rejection:
    return Rejection(status=status, kind=kind, message=message)


def _openai(
    status: int, kind: str, message: str, code: str | None = None, param: str | None = None
) -> Rejection:
    return Rejection(status=status, kind=kind, message=message, code=code, param=param)


def _google(status: int, kind: str, message: str, details: JsonList | None = None) -> Rejection:
    return Rejection(status=status, kind=kind, message=message, details=details or [])


ANTHROPIC: Final[Mapping[Trouble, Rejection]] = {
    Trouble.RATE_LIMIT: _anthropic(
        429, "rate_limit_error", "This request would exceed your organization's rate limit."
    ),
    Trouble.QUOTA: _anthropic(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
        "Billing to upgrade or purchase credits.",
    ),
    Trouble.OVERLOADED: _anthropic(529, "overloaded_error", "Overloaded"),
    Trouble.SERVER: _anthropic(500, "api_error", "Internal server error"),
    Trouble.UNAVAILABLE: _anthropic(503, "api_error", "Service temporarily unavailable"),
    Trouble.UNAUTHORIZED: _anthropic(401, "authentication_error", "invalid x-api-key"),
    Trouble.FORBIDDEN: _anthropic(
        403, "permission_error", "Your API key does not have permission to use this resource."
    ),
    Trouble.MODEL: _anthropic(404, "not_found_error", "model: no-such-model"),
    Trouble.TOO_LARGE: _anthropic(413, "request_too_large", "Request exceeds the maximum size"),
    Trouble.CONTEXT: _anthropic(
        400, "invalid_request_error", "prompt is too long: 212033 tokens > 200000 maximum"
    ),
    Trouble.INVALID: _anthropic(
        400, "invalid_request_error", "messages.0.content: Input is not valid"
    ),
    Trouble.TEMPERATURE: _anthropic(
        400, "invalid_request_error", "`temperature` is deprecated for this model."
    ),
    Trouble.LIMIT: _anthropic(429, "rate_limit_error", LIMIT),
    Trouble.PAYMENT: _anthropic(402, "billing_error", "Your account has no payment method."),
    Trouble.EXPIRED: _anthropic(401, "authentication_error", "OAuth token has expired."),
    Trouble.TOOL_USE: _anthropic(400, "tool_use_failed", TOOL_USE),
    Trouble.SUMMARY: _anthropic(
        400, INVALID, "thinking.adaptive.display: Extra inputs are not permitted"
    ),
    Trouble.EFFORT: _anthropic(
        400, INVALID, "output_config.effort: Extra inputs are not permitted"
    ),
    Trouble.STREAM_OPTIONS: _anthropic(422, INVALID, STREAM_OPTIONS),
    Trouble.UNPROCESSABLE: _anthropic(422, INVALID, "messages.0: Field required"),
    Trouble.TIMEOUT: _anthropic(408, "timeout_error", "Request timed out."),
    Trouble.CONFLICT: _anthropic(409, "conflict_error", "The resource is locked."),
    Trouble.CAPACITY: _anthropic(498, "capacity_exceeded", CAPACITY),
    Trouble.NOVEL: _anthropic(500, "brand_new_error", "Something that has no name yet."),
}

GEMINI: Final[Mapping[Trouble, Rejection]] = {
    Trouble.RATE_LIMIT: _google(
        429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."
    ),
    Trouble.QUOTA: _google(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    Trouble.OVERLOADED: _google(
        529, "UNAVAILABLE", "The model is overloaded. Please try again later."
    ),
    Trouble.SERVER: _google(500, "INTERNAL", "An internal error has occurred. Please retry."),
    Trouble.UNAVAILABLE: _google(503, "UNAVAILABLE", "The service is currently unavailable."),
    Trouble.UNAUTHORIZED: _google(
        400,
        "INVALID_ARGUMENT",
        "API key not valid. Please pass a valid API key.",
        [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            }
        ],
    ),
    Trouble.FORBIDDEN: _google(403, "PERMISSION_DENIED", "The caller does not have permission"),
    Trouble.MODEL: _google(
        404,
        "NOT_FOUND",
        "models/no-such-model is not found for API version v1beta, or is not supported for "
        "generateContent.",
    ),
    Trouble.TOO_LARGE: _google(413, "INVALID_ARGUMENT", "Request payload size exceeds the limit."),
    Trouble.CONTEXT: _google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1248576) exceeds the maximum number of tokens allowed (1048576).",
    ),
    Trouble.INVALID: _google(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    Trouble.TEMPERATURE: _google(
        400, "INVALID_ARGUMENT", "Unable to submit request because temperature is not supported."
    ),
    Trouble.LIMIT: _google(429, "RESOURCE_EXHAUSTED", LIMIT),
    Trouble.PAYMENT: _google(402, "FAILED_PRECONDITION", "Your prepayment credits are depleted."),
    Trouble.EXPIRED: _google(
        401,
        "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token.",
        [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "ACCESS_TOKEN_EXPIRED",
                "domain": "googleapis.com",
            }
        ],
    ),
    Trouble.TOOL_USE: _google(400, "tool_use_failed", TOOL_USE),
    Trouble.SUMMARY: _google(
        400,
        "INVALID_ARGUMENT",
        "Unable to submit request because Thinking_config.include_thoughts is only enabled when "
        "thinking is enabled.",
    ),
    Trouble.EFFORT: _google(
        400, "INVALID_ARGUMENT", "Thinking level HIGH is not supported for this model."
    ),
    Trouble.STREAM_OPTIONS: _google(422, "INVALID_ARGUMENT", STREAM_OPTIONS),
    Trouble.UNPROCESSABLE: _google(422, "INVALID_ARGUMENT", "contents: Field required"),
    Trouble.TIMEOUT: _google(408, "DEADLINE_EXCEEDED", "The request timed out."),
    Trouble.CONFLICT: _google(409, "ABORTED", "The operation was aborted."),
    Trouble.CAPACITY: _google(498, "capacity_exceeded", CAPACITY),
    Trouble.NOVEL: _google(0, "BRAND_NEW", "Something that has no name yet."),
}


def openai(*, model_status: int, effort: str) -> Mapping[Trouble, Rejection]:
    return {
        Trouble.RATE_LIMIT: _openai(
            429,
            "tokens",
            "Rate limit reached for this model on tokens per min (TPM): Limit 30000, Used 29500, "
            "Requested 1200. Please try again in 7s.",
            "rate_limit_exceeded",
        ),
        Trouble.QUOTA: _openai(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
        ),
        Trouble.OVERLOADED: _openai(
            529,
            "server_error",
            "The server is currently overloaded with other requests.",
            "overloaded",
        ),
        Trouble.UNAUTHORIZED: _openai(
            401, "invalid_request_error", "Incorrect API key provided: sim-***.", "invalid_api_key"
        ),
        Trouble.FORBIDDEN: _openai(
            403,
            "invalid_request_error",
            "Project `sim` does not have access to this model.",
            "model_not_found",
        ),
        Trouble.MODEL: _openai(
            model_status,
            "invalid_request_error",
            "The model `no-such-model` does not exist or you do not have access to it.",
            "model_not_found",
        ),
        Trouble.TOO_LARGE: _openai(413, "invalid_request_error", "Request body is too large."),
        Trouble.CONTEXT: _openai(400, "invalid_request_error", TOO_LONG, "context_length_exceeded"),
        Trouble.INVALID: _openai(400, "invalid_request_error", "Invalid value for parameter."),
        Trouble.TEMPERATURE: Rejection(
            status=400,
            kind="invalid_request_error",
            message="Unsupported parameter: 'temperature' is not supported with this model.",
            param="temperature",
            code="unsupported_parameter",
        ),
        Trouble.EFFORT: _openai(
            400,
            INVALID,
            f"Unsupported value: '{effort}' does not support 'high' with this model.",
            "unsupported_value",
            effort,
        ),
        **OPENAI_ALIKE,
    }


OPENAI_ALIKE: Final[Mapping[Trouble, Rejection]] = {
    Trouble.SERVER: _openai(
        500,
        "server_error",
        "The server had an error while processing your request.",
        "server_error",
    ),
    Trouble.UNAVAILABLE: _openai(
        503, "server_error", "The engine is currently overloaded, please try again later."
    ),
    Trouble.LIMIT: _openai(429, "tokens", LIMIT, "rate_limit_exceeded"),
    Trouble.PAYMENT: _openai(402, "payment_error", "Insufficient Balance", "invalid_request"),
    Trouble.EXPIRED: _openai(401, INVALID, "Access token is missing, invalid, or expired.", "401"),
    Trouble.TOOL_USE: _openai(400, INVALID, TOOL_USE, "tool_use_failed"),
    Trouble.SUMMARY: _openai(400, INVALID, SUMMARY, "unsupported_value", "reasoning.summary"),
    Trouble.STREAM_OPTIONS: _openai(422, "extra_forbidden", STREAM_OPTIONS),
    Trouble.UNPROCESSABLE: _openai(422, INVALID, "messages: Field required"),
    Trouble.TIMEOUT: _openai(408, "timeout", "Request timed out.", "request_timeout"),
    Trouble.CONFLICT: _openai(409, "conflict", "Another request is changing this resource."),
    Trouble.CAPACITY: _openai(498, "capacity_exceeded", CAPACITY, "capacity_exceeded"),
    Trouble.NOVEL: _openai(500, "brand_new", "Something that has no name yet.", "brand_new"),
}
