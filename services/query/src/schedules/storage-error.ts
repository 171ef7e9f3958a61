import { AddressRefusedError, AnswerRefusedError } from '@waymark/outbound';

/** The storage has not accepted an object. */
export class StorageError extends Error {
  override readonly name = 'StorageError';

  /**
   * @param reason a text for the owner of the schedule
   * @param isRefusal whether the storage has refused the object, which a repeat would not change, in contrast to being unavailable
   */
  constructor(
    readonly reason: string,
    readonly isRefusal: boolean,
  ) {
    super(reason);
  }

  static refused(reason: string): StorageError {
    return new StorageError(reason, true);
  }
}

/** The fields of the SDK's errors that are read here. These errors and their causes are not logged: they contain the signed request. */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  /** Only of errors that an answer contained, in contrast to those of reading it. */
  readonly $fault?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number };
}

const REASON_CHARS_MAX = 300;
/** Statuses below 500 that are temporary: timeouts, conflicts, too many requests. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** Names that the SDK gives to errors in whose body it has found none. */
const UNREAD_NAMES: ReadonlySet<unknown> = new Set(['', 'Error', 'Unknown', 'UnknownError']);

/** A text from the storage without control characters, short enough for a message. */
function readable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it replaces them
  return text.slice(0, REASON_CHARS_MAX).replace(/[\u0000-\u001f\u007f]+/g, ' ');
}

/** Names of errors that mean that the storage has not answered in time. */
const LATE_NAMES: ReadonlySet<unknown> = new Set(['AbortError', 'TimeoutError']);

/** The reason to show to the owner; undefined for an error that does not come from the storage. */
function reasonOf(err: SdkError, status: number | undefined): string | undefined {
  if (err instanceof AddressRefusedError) return 'The storage has no public address.';
  if (err instanceof AnswerRefusedError) return `The storage has answered in a way that is refused: ${err.message}.`;
  if (status === undefined) {
    if (typeof err.code === 'string') return `The storage cannot be reached (${readable(err.code)}).`;
    return LATE_NAMES.has(err.name) ? 'The storage has not answered in time.' : undefined;
  }
  if (err.$fault === undefined || UNREAD_NAMES.has(err.name))
    return `The storage has answered with the HTTP status ${status}.`;
  return readable(`${String(err.name)}: ${String(err.message)}`);
}

/** Turns an error of the SDK into one without secrets, such as the signature of the request. @returns any other error as it is */
export function storageError(err: unknown): unknown {
  if (err instanceof StorageError) return err;
  const found: SdkError = typeof err === 'object' && err !== null ? err : {};
  const status = found.$metadata?.httpStatusCode ?? found.$response?.statusCode;
  const reason = reasonOf(found, status);
  if (reason === undefined) return err;
  const isRefused = status !== undefined && status >= 300 && status < 500 && !TEMPORARY.has(status);
  return new StorageError(reason, isRefused || err instanceof AddressRefusedError || err instanceof AnswerRefusedError);
}
