import { AddressRefusedError } from '@waymark/outbound';

/** The storage has not accepted an object. */
export class StorageError extends Error {
  override readonly name = 'StorageError';

  /**
   * @param reason for the owner of the schedule
   * @param isRefusal whether the storage has answered that it will not, in contrast to being unavailable
   */
  constructor(
    readonly reason: string,
    readonly isRefusal: boolean,
  ) {
    super(reason);
  }
}

/** The fields of errors of the SDK that are read here. Neither they nor their causes are logged: they hold the request. */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number };
}

const REASON_CHARS_MAX = 300;
/** Statuses below 500 that may be gone with the next attempt: timeouts, conflicts, too many requests. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** Names that the SDK uses for errors it could not read. */
const UNREAD_NAMES: ReadonlySet<unknown> = new Set(['Error', 'SyntaxError', 'TypeError', 'Unknown', 'UnknownError']);

function readable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it replaces them
  return text.slice(0, REASON_CHARS_MAX).replace(/[\u0000-\u001f\u007f]+/g, ' ');
}

/** Names of errors after which there is no answer. */
const LATE_NAMES: ReadonlySet<unknown> = new Set(['AbortError', 'TimeoutError']);

/** The reason for the owner; undefined = the error is not about the storage, but a fault of this program. */
function reasonOf(err: SdkError, status: number | undefined): string | undefined {
  if (err instanceof AddressRefusedError) return 'The storage has no public address.';
  if (status === undefined) {
    if (typeof err.code === 'string') return `The storage cannot be reached (${readable(err.code)}).`;
    return LATE_NAMES.has(err.name) ? 'The storage has not answered in time.' : undefined;
  }
  if (UNREAD_NAMES.has(err.name)) return `The storage has answered with the HTTP status ${status}.`;
  return readable(`${String(err.name)}: ${String(err.message)}`);
}

/** Describes an error of the SDK without anything that must stay secret. @returns other errors as they are */
export function storageError(err: unknown): unknown {
  if (err instanceof StorageError) return err;
  const found: SdkError = typeof err === 'object' && err !== null ? err : {};
  const status = found.$metadata?.httpStatusCode ?? found.$response?.statusCode;
  const reason = reasonOf(found, status);
  if (reason === undefined) return err;
  const isRefused = status !== undefined && status >= 300 && status < 500 && !TEMPORARY.has(status);
  return new StorageError(reason, isRefused || err instanceof AddressRefusedError);
}
