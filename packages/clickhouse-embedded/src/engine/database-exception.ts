/** An error of a statement in ClickHouse's form: a code, and a message that ends with the code's name in parentheses. */
export class DatabaseException extends Error {
  override readonly name = 'DatabaseException';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** ClickHouse's code for errors that have no code of their own. */
const UNKNOWN_EXCEPTION = 1002;
const NATIVE_TEXT = /^Code: (\d+)\. DB::Exception: ([\s\S]*)$/;

/** Converts an error of the native addon. The `[]` at the end of its message is removed: that of a ClickHouse server does not have it. */
export function asDatabaseException(err: unknown): DatabaseException {
  if (err instanceof DatabaseException) return err;
  const text = (err instanceof Error ? err.message : String(err)).trim();
  const [, code, message = ''] = NATIVE_TEXT.exec(text) ?? [];
  if (code === undefined) return new DatabaseException(UNKNOWN_EXCEPTION, `${text} (UNKNOWN_EXCEPTION)`);
  return new DatabaseException(Number(code), (message.endsWith('[]') ? message.slice(0, -2) : message).trim());
}

/** The errors that this server itself creates, with ClickHouse's codes. */
export const exceptions = {
  accessDenied: (what: string) => new DatabaseException(497, `Not enough privileges: ${what}. (ACCESS_DENIED)`),
  cancelled: () => new DatabaseException(394, 'Query was cancelled. (QUERY_WAS_CANCELLED)'),
  notImplemented: (what: string) => new DatabaseException(48, `${what} (NOT_IMPLEMENTED)`),
  syntax: (what: string) => new DatabaseException(62, `Syntax error: ${what} (SYNTAX_ERROR)`),
  unknownSetting: (name: string) => new DatabaseException(115, `Unknown setting '${name}'. (UNKNOWN_SETTING)`),
  badArguments: (what: string) => new DatabaseException(36, `${what} (BAD_ARGUMENTS)`),
  tooMany: (limit: number) =>
    new DatabaseException(202, `Too many simultaneous queries. Waiting: ${limit}. (TOO_MANY_SIMULTANEOUS_QUERIES)`),
  form: (what: string) => new DatabaseException(1000, `HTML Form Exception: ${what}. (POCO_EXCEPTION)`),
  requestTooLarge: (limit: number) =>
    new DatabaseException(229, `A request may have ${limit} bytes at most. (QUERY_IS_TOO_LARGE)`),
  compression: (method: string) =>
    new DatabaseException(89, `Unknown compression method: ${method}. (UNKNOWN_COMPRESSION_METHOD)`),
} as const;

/**
 * HTTP status by code; that of every other code is 500. Copied from the ClickHouse server:
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Server/HTTP/exceptionCodeToHTTPStatus.cpp
 */
const STATUSES: readonly (readonly [status: number, codes: readonly number[]])[] = [
  [400, [6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676]],
  [401, [194]],
  [403, [192, 193, 497, 512, 516]],
  [404, [46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511]],
  [408, [159]],
  [413, [229]],
  [501, [48]],
  [503, [76, 209, 439]],
];

const STATUS_BY_CODE: ReadonlyMap<number, number> = new Map(
  STATUSES.flatMap(([status, codes]) => codes.map((code) => [code, status] as const)),
);

/** The HTTP status with which a ClickHouse server answers for the exception. */
export function httpStatus({ code }: DatabaseException): number {
  return STATUS_BY_CODE.get(code) ?? 500;
}
