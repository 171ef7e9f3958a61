import { createHash } from 'node:crypto';
import type { EventsQuery } from '@waymark/contract';
import { fieldError } from '@waymark/contract';
import { DEFAULT_INTERVAL, DEFAULT_TIME_ZONE } from '../dates/time-range.js';
import { directionOf, type Position } from './page.js';

/** The decoded content of a cursor: where a page begins. */
export interface Cursor {
  /** Time of the request for the first page, in epoch milliseconds. All pages use it as "now", so that a relative range does not move. */
  readonly nowMs: number;
  /** The last event of the previous page. */
  readonly after: Position;
}

/** The list that a cursor belongs to. */
export interface CursorScope {
  readonly query: EventsQuery;
  readonly workspaceId: string;
}

/*
 * Layout of version 1: version (1 byte), time of the first request and time of the event (6 bytes each), id of the event (16),
 * checksum (12). The checksum detects a cursor that is used with another list; it is no protection against forgery, and none is
 * needed: a cursor gives no access that `start` and `end` would not give, and the workspace comes from the API key.
 */
const VERSION = 1;
const TIME_BYTES = 6;
const NOW_START = 1;
const EVENT_TIME_START = NOW_START + TIME_BYTES;
const ID_START = EVENT_TIME_START + TIME_BYTES;
const ID_BYTES = 16;
const CHECKSUM_START = ID_START + ID_BYTES;
const CHECKSUM_BYTES = 12;
const LENGTH = CHECKSUM_START + CHECKSUM_BYTES;
const ID = /^[0-9A-Za-z]{16}$/;
/** Event ids have 42 bits for the time: no event is later than this. */
const MS_MAX = 2 ** 42 - 1;

/** Parameters that may change from page to page, or that the checksum includes in a normalised form. */
const NOT_IN_CHECKSUM: ReadonlySet<string> = new Set([
  'cursor',
  'page',
  'limit',
  'event',
  'sortOrder',
  'sortBy',
  'order',
]);

/** Defaults: a parameter with its default value has the same checksum as an absent one. */
const DEFAULTS: Readonly<Record<string, unknown>> = { interval: DEFAULT_INTERVAL, timezone: DEFAULT_TIME_ZONE };

/** A digest of the position and of every parameter that affects which events are listed, and in which order. */
function checksumOf(head: Buffer, { query, workspaceId }: CursorScope): Buffer {
  const parameters = Object.entries(query)
    .filter(([name, value]) => value !== undefined && value !== DEFAULTS[name] && !NOT_IN_CHECKSUM.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const request = JSON.stringify([workspaceId, query.event ?? 'clicks', directionOf(query), parameters]);
  return createHash('sha256').update(head).update(request).digest().subarray(0, CHECKSUM_BYTES);
}

/** Encodes the cursor of the page that follows the event `after`. */
export function formatCursor({ nowMs, after }: Cursor, scope: CursorScope): string {
  const head = Buffer.alloc(CHECKSUM_START);
  head.writeUInt8(VERSION);
  head.writeUIntBE(nowMs, NOW_START, TIME_BYTES);
  head.writeUIntBE(after.timeMs, EVENT_TIME_START, TIME_BYTES);
  head.write(after.id, ID_START, ID_BYTES, 'latin1');
  return Buffer.concat([head, checksumOf(head, scope)]).toString('base64url');
}

function decode(text: string, scope: CursorScope): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Buffer.from() ignores invalid base64 characters; compare with the canonical encoding to reject them.
  if (bytes.length !== LENGTH || bytes.toString('base64url') !== text || bytes[0] !== VERSION) return undefined;
  if (!bytes.subarray(CHECKSUM_START).equals(checksumOf(bytes.subarray(0, CHECKSUM_START), scope))) return undefined;
  const nowMs = bytes.readUIntBE(NOW_START, TIME_BYTES);
  const timeMs = bytes.readUIntBE(EVENT_TIME_START, TIME_BYTES);
  const id = bytes.toString('latin1', ID_START, CHECKSUM_START);
  return nowMs > MS_MAX || timeMs > MS_MAX || !ID.test(id) ? undefined : { nowMs, after: { timeMs, id } };
}

/**
 * Decodes and checks the cursor of a request; undefined when the request has none.
 *
 * @throws ApiError 422 for an invalid cursor, a cursor of another list (workspace, event kind, order, range or filter), and a
 * cursor together with a page number. `page=1` is accepted, because some clients always send it.
 */
export function parseCursor(scope: CursorScope): Cursor | undefined {
  const { cursor: text, page } = scope.query;
  if (text === undefined) return undefined;
  if (page !== 1) throw fieldError('invalid_combination', 'cursor', 'cannot be used together with page');
  const cursor = decode(text, scope);
  if (cursor !== undefined) return cursor;
  throw fieldError('invalid_value', 'cursor', 'must be the cursor of a page of the same list: only limit may differ');
}
