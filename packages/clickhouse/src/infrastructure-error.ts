import { ClickHouseError } from '@clickhouse/client';
import { errors } from 'undici';

/**
 * Codes of ClickHouse that say nothing about the rows: the same insert may succeed later, on this server or once it is
 * repaired. A schema that is behind and refused credentials are such, too: the rows are good.
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
const INFRASTRUCTURE_CODES: ReadonlySet<number> = new Set(
  [
    { why: 'the schema is behind', codes: [16, 60, 81, 218, 733] },
    { why: 'files and disks', codes: [74, 75, 76, 77, 172, 204, 214, 243, 400, 425, 439, 499] },
    { why: 'network', codes: [95, 96, 198, 203, 209, 210, 279, 297, 574] },
    { why: 'a limit of this moment', codes: [159, 160, 173, 201, 202, 241, 252, 290, 700, 718, 745] },
    {
      why: 'replicas and Keeper',
      codes: [164, 225, 242, 244, 251, 254, 285, 286, 289, 319, 369, 415, 416, 568, 904, 999],
    },
    { why: 'cancelled, stopping, dead-locked', codes: [236, 341, 372, 373, 384, 394, 473, 735, 738] },
    { why: 'credentials', codes: [192, 193, 194, 195, 497, 516] },
    { why: 'no code of its own', codes: [1000, 1001, 1002] },
  ].flatMap(({ codes }) => codes),
);

/**
 * Whether an error of the client means "later", so that the same statement is worth repeating. Decided by number and kind,
 * never by the words of a message.
 */
export function isInfrastructureError(err: unknown): boolean {
  if (err instanceof ClickHouseError) return INFRASTRUCTURE_CODES.has(Number(err.code));
  if (!(err instanceof Error)) return false;
  if (err.cause instanceof Error) return isInfrastructureError(err.cause);
  // What answers does not speak HTTP.
  if (err instanceof errors.HTTPParserError) return true;
  // Sockets, DNS, TLS and a body cut off while it was decompressed carry a code of Node's.
  if ('code' in err && typeof err.code === 'string') return true;
  // A signal's: time over, or whoever asked has left.
  if (err instanceof DOMException) return true;
  // The client's own errors (time over, request aborted, an answer that some proxy gave) are plain ones without a code;
  // a TypeError or RangeError is a mistake of the program.
  return Object.getPrototypeOf(err) === Error.prototype;
}
