import { ClickHouseError } from '@clickhouse/client';
import { errors } from 'undici';

const CREDENTIALS: readonly number[] = [192, 193, 194, 195, 452, 497, 516, 720, 763];

/**
 * ClickHouse error codes that do not mean invalid rows: the same insert may succeed later, or once the server is repaired. An outdated
 * schema and wrong credentials are among them, because the rows are valid.
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
const INFRASTRUCTURE_CODES: ReadonlySet<number> = new Set(
  [
    { why: 'the schema is outdated', codes: [16, 60, 81, 218, 733] },
    { why: 'files and disks', codes: [74, 75, 76, 77, 172, 204, 214, 243, 294, 400, 425, 439, 499, 586] },
    { why: 'network', codes: [95, 96, 198, 203, 209, 210, 279, 297, 574] },
    { why: 'a temporary limit', codes: [159, 160, 173, 201, 202, 241, 252, 290, 700, 718, 745, 749, 762, 777, 778] },
    {
      why: 'replicas and Keeper',
      codes: [164, 225, 242, 244, 251, 254, 285, 286, 289, 319, 369, 415, 416, 519, 568, 774, 904, 999],
    },
    { why: 'cancelled, stopping, dead-locked', codes: [236, 341, 372, 373, 384, 394, 473, 735, 738] },
    { why: 'the start of a server: tables that wait for Keeper, or are not loaded', codes: [667, 694, 695, 696, 722] },
    { why: 'the definition of the cluster', codes: [371, 701] },
    { why: 'a logical shard is being moved: its old shard refuses its rows', codes: [469] },
    { why: 'credentials', codes: CREDENTIALS },
    { why: 'no code of its own', codes: [1000, 1001, 1002] },
  ].flatMap(({ codes }) => codes),
);

/**
 * Whether neither the statement nor its rows caused the error, so that the same statement should be retried. Decided by code and
 * type, never by the text of a message.
 */
export function isInfrastructureError(err: unknown): boolean {
  if (err instanceof ClickHouseError) return INFRASTRUCTURE_CODES.has(Number(err.code));
  if (!(err instanceof Error)) return false;
  if (err.cause instanceof Error) return isInfrastructureError(err.cause);
  // The response is not HTTP.
  if (err instanceof errors.HTTPParserError) return true;
  // Errors of sockets, DNS and TLS, and of a body truncated during decompression, have a code of Node.js.
  if ('code' in err && typeof err.code === 'string') return true;
  // From an AbortSignal: a timeout, or the caller has disconnected.
  if (err instanceof DOMException) return true;
  // The client's own errors (timeout, aborted request, the response of a proxy) are plain `Error`s without a code. A TypeError or
  // RangeError is a defect of this program.
  return Object.getPrototypeOf(err) === Error.prototype;
}

/**
 * The code of the error with which ClickHouse refuses a statement until somebody changes the rights of its user, or the server. Undefined for
 * errors that pass by themselves, and for those of the connection.
 */
export function refusalCode(err: unknown): string | undefined {
  if (err instanceof ClickHouseError) {
    return CREDENTIALS.includes(Number(err.code)) || !isInfrastructureError(err) ? err.code : undefined;
  }
  return err instanceof Error ? refusalCode(err.cause) : undefined;
}

/** Codes of statements that ClickHouse has aborted for their time or memory. */
const BEYOND_LIMITS: readonly number[] = [159, 160, 241];
/** In the message of code 241 if the memory of the whole server was used up, and not that of the statement or its user. */
const OF_ALL_STATEMENTS = '(total)';

/**
 * Whether ClickHouse has aborted a statement because it takes more time or memory than one may: a repeat would most likely take as much. As
 * an exception, the text of the message decides whether all statements together had too little memory, because the code is the same.
 */
export function isBeyondLimits(err: unknown): boolean {
  if (!(err instanceof ClickHouseError)) return err instanceof Error && isBeyondLimits(err.cause);
  return BEYOND_LIMITS.includes(Number(err.code)) && !err.message.includes(OF_ALL_STATEMENTS);
}

const MEMORY_LIMIT_EXCEEDED = 241;
const TOO_MANY_ROWS_OR_BYTES = 396;
const TOO_LARGE: readonly number[] = [MEMORY_LIMIT_EXCEEDED, TOO_MANY_ROWS_OR_BYTES];

/** Whether ClickHouse has aborted a statement because it needs more memory, or has a larger result, than one may: with fewer rows it may succeed. */
export function isTooLarge(err: unknown): boolean {
  if (!(err instanceof ClickHouseError)) return err instanceof Error && isTooLarge(err.cause);
  return TOO_LARGE.includes(Number(err.code)) && !isRefusedForNow(err);
}

/** Whether ClickHouse has aborted a statement because its result is larger than one may be. */
export function isResultTooLarge(err: unknown): boolean {
  if (!(err instanceof ClickHouseError)) return err instanceof Error && isResultTooLarge(err.cause);
  return Number(err.code) === TOO_MANY_ROWS_OR_BYTES;
}

/**
 * Whether ClickHouse has refused a statement that it may accept later: it runs too many, starts, stops, or a part of the cluster is away. In
 * contrast to {@link isInfrastructureError}, false for all errors that are not from ClickHouse.
 */
export function isRefusedForNow(err: unknown): boolean {
  if (!(err instanceof ClickHouseError)) return err instanceof Error && isRefusedForNow(err.cause);
  return isInfrastructureError(err) && !isBeyondLimits(err);
}
