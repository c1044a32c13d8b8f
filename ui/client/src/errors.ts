/** Errors of requests. */

/** The server refused the request. `code` is for programs, `message` for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** Errors of single fields, by JSON pointer (`/email`). */
  fieldErrors: Readonly<Record<string, string>> = {};

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterMs: number | null = null,
    readonly requestId: string | null = null,
  ) {
    super(message);
  }

  /** Nothing was done, or the outcome is unknown: repeat the request under the same key. */
  get isRetryable(): boolean {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** The server did not answer. The text of the browser is not written for people. */
export class NetworkError extends Error {
  override readonly name = "NetworkError";

  constructor(cause: unknown) {
    super("The server does not answer. Try again.", { cause });
  }
}

/** For people: why something did not happen. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error that a refusal stands for. */
export function apiErrorOf(response: Response, body: unknown): ApiError {
  const { code, title, detail } = (body ?? {}) as Record<string, string | undefined>;
  const message = detail ?? title ?? `The server answered ${response.status}.`;
  const afterS = Number(response.headers.get("retry-after"));
  const error = new ApiError(
    response.status,
    code ?? "http_error",
    message,
    afterS > 0 ? afterS * 1000 : null,
    response.headers.get("x-request-id"),
  );
  error.fieldErrors = fieldErrorsOf(body);
  return error;
}

function fieldErrorsOf(body: unknown): Record<string, string> {
  const { errors } = (body ?? {}) as { errors?: unknown };
  if (!Array.isArray(errors)) return {};
  const fields = errors as { in?: unknown; pointer?: unknown; detail?: unknown }[];
  return Object.fromEntries(
    fields.filter((field) => field.in === "body").map((field) => [field.pointer, field.detail]),
  );
}
