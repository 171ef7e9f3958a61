/** Every error code of the API with its HTTP status. The SDK accepts exactly these pairs. */
export const ERROR_STATUS = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  invite_expired: 410,
  unprocessable_entity: 422,
  rate_limit_exceeded: 429,
  internal_server_error: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/**
 * An HTTP status for errors of the method, a precondition or a range, which no error code of the API has. It replaces the status of the
 * error code, which the body still contains. The SDK never sends requests that lead to such errors.
 */
export interface HttpRefusal {
  readonly status: 405 | 412 | 416;
  /** Headers that HTTP demands with the status, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Details of an error in addition to its public message. Only `retryAfterSeconds` and `http` are sent to the caller. */
export interface ApiErrorOptions {
  readonly cause?: unknown;
  /** Logged, not sent. Must not contain secrets. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Whole seconds, at least 1; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  readonly http?: HttpRefusal;
}

/** An error with a public code and message (docs/reference/errors.md). Any other error that is thrown becomes a 500 without details. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly context: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Headers of the response. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.http?.status ?? ERROR_STATUS[code];
    this.headers = options.http?.headers ?? {};
    this.context = options.context;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The JSON body of every error response. */
export interface ErrorBody {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly doc_url: string };
}

/** The anchor of an error code on the documentation page of errors. */
export function errorAnchor(code: ErrorCode): string {
  return code.replaceAll('_', '-');
}

/** Builds the error body; `docBase` is the base URL of the documentation, without a trailing slash. */
export function errorBody(code: ErrorCode, message: string, docBase: string): ErrorBody {
  return { error: { code, message, doc_url: `${docBase}/api-reference/errors#${errorAnchor(code)}` } };
}
