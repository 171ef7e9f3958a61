/** What ClickHouse calls a failed statement: a number, a text, and the HTTP status its server answers with. */
export class DatabaseException extends Error {
  override readonly name = 'DatabaseException';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const NATIVE_TEXT = /^Code: (\d+)\. DB::Exception: ([\s\S]*)$/;
/** Thrown by the engine where it gives no code of its own. */
export const UNKNOWN_EXCEPTION = 1002;

/** The exception inside an error of the addon. Its text ends with an empty list that the server's does not have. */
export function asDatabaseException(err: unknown): DatabaseException {
  if (err instanceof DatabaseException) return err;
  const text = (err instanceof Error ? err.message : String(err)).trim();
  const match = NATIVE_TEXT.exec(text);
  if (match === null) return new DatabaseException(UNKNOWN_EXCEPTION, `${text} (UNKNOWN_EXCEPTION)`);
  return new DatabaseException(Number(match[1]), (match[2] ?? '').replace(/\s*\[\]$/, '').trim());
}

/** Codes by the status the server gives them (`exceptionCodeToHTTPStatus` in its source). Every other code is 500. */
const STATUS_BY_CODE: ReadonlyMap<number, number> = new Map([
  ...statuses(400, [6, 26, 27, 38, 41, 42, 43, 44, 46, 47, 50, 53, 62, 69, 70, 72, 117, 145, 456, 457, 475]),
  ...statuses(403, [492, 497, 516]),
  ...statuses(404, [60, 81]),
  ...statuses(408, [209]),
  ...statuses(413, [307]),
  ...statuses(501, [48]),
  ...statuses(503, [202]),
]);

function statuses(status: number, codes: readonly number[]): (readonly [number, number])[] {
  return codes.map((code) => [code, status] as const);
}

export function httpStatus(exception: DatabaseException): number {
  return STATUS_BY_CODE.get(exception.code) ?? 500;
}
