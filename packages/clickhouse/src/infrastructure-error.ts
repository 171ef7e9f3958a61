import { ClickHouseError } from '@clickhouse/client';

/**
 * Codes of ClickHouse that say nothing about the rows: the same insert may succeed later, on this server or once it is
 * repaired. A schema that is behind (unknown table or column) and refused credentials are such, too: the rows are good.
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
const INFRASTRUCTURE_CODES: ReadonlySet<number> = new Set([
  // The schema is not there yet.
  16, 60, 81,
  // Files and sockets.
  3, 23, 24, 74, 75, 76, 77, 95, 96, 198, 204, 209, 210, 425, 439, 499,
  // Limits of the server or of the user at this moment.
  159, 160, 201, 202, 203, 241, 243, 252, 290,
  // Replicas and Keeper.
  164, 225, 242, 244, 254, 279, 285, 286, 289, 319, 369, 415, 416, 999,
  // Cancelled, shutting down, deadlocked.
  236, 341, 373, 394, 473,
  // Credentials.
  192, 193, 194, 195, 497, 516,
  // Exceptions that carry no code of their own.
  1000, 1001, 1002,
]);

/**
 * Whether an error of the client means "later", so that the same statement is worth repeating. Decided by number and kind,
 * never by the words of a message.
 */
export function isInfrastructureError(err: unknown): boolean {
  if (err instanceof ClickHouseError) return INFRASTRUCTURE_CODES.has(Number(err.code));
  if (!(err instanceof Error)) return false;
  // Sockets, DNS, TLS and a body cut off while it was decompressed all carry a code of Node's.
  if ('code' in err && typeof err.code === 'string') return true;
  // The client's own errors (time over, request aborted, an answer that some proxy gave) are plain ones without a code;
  // a TypeError or RangeError is a mistake in the program or its data.
  return Object.getPrototypeOf(err) === Error.prototype;
}
